/* sched:sched_switch and signal:signal_deliver of the traced threads, made from what the kernel tells of them (perf_rings.h). It comes as runs, as if
 * every thread had a second place in the session memory: slots from `first_slot` on. */
#pragma once
#include "event/event_set.h"
#include "session/drain.h"
#include "source/trace_info.h"

struct switches;
struct switches *switches_new(uint32_t first_slot);
void switches_free(struct switches *s);

/* What is set from now on. If the event is armed, this process and all that it makes are followed from now on. 0, or -errno and
 * *err: it cannot be followed. From any thread. */
int switches_follow(struct switches *s, const struct event_set *set, pid_t pid, struct err *err);
/* One pass, as drain_pass; last: everything comes out. Not from two threads at once. */
int switches_pass(struct switches *s, bool last, drain_sink *sink, void *context, struct err *err);
/* Who has the slot: pid, tid, comm; false: it is none of ours. */
bool switches_thread(struct switches *s, uint32_t slot, struct trace_thread *out);
