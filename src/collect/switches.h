/* SPDX-License-Identifier: MIT */
/* sched:sched_switch and signal:signal_deliver of the traced threads, and the ends of those that could not tell themselves, made from
 * what the kernel tells of them (perf_rings.h). It comes as runs, as if every thread had a second place in the session memory: slots
 * SLOT_FOLLOWED on (slots.h).
 *
 * And what they sleep (nosleep-time): records among those of the threads' own runs, before they are passed on. */
#pragma once
#include "event/event_set.h"
#include "collect/drain.h"
#include "collect/pending_sleeps.h"
#include "trace/trace_info.h"

struct switches;
struct memories;
struct switches *switches_new(struct memories *memories); /* where threads say that they told of their ends */
void switches_free(struct switches *s);

/* What is set from now on. If an event is armed or sleeps are wanted, this process and all that it makes are followed from now on. 0, or
 * -errno and *err: it cannot be followed. From any thread. */
int switches_follow(struct switches *s, const struct event_set *set, bool sleeps, pid_t pid, struct err *err);
/* Follows all processes there are, which stand still meanwhile, or have made no others: a child is followed for itself, though
 * its parent is too, if that one is followed only from now on. */
int switches_follow_all(struct switches *s, const struct event_set *set, bool sleeps, const pid_t *pids, size_t n, struct err *err);
/* The run's records with what its thread slept, in *words; false: nothing, or it is not known. */
bool switches_weave(struct switches *s, pid_t tid, const struct drain_run *run, record_words *words);
/* All records from before this time have been woven, but for a moment's. */
void switches_settle(struct switches *s, uint64_t tsc);
/* Makes room in the kernel's rings. */
void switches_gather(struct switches *s);
/* Of how many switches nobody knows, because the kernel had no room for them, while sleeps were wanted. */
uint64_t switches_unseen(struct switches *s);
/* One pass, as drain_pass; last: everything comes out. Not from two threads at once. */
int switches_pass(struct switches *s, bool last, drain_sink *sink, void *context, struct err *err);
/* Who has the slot: pid, tid, comm; false: it is none of ours. */
bool switches_thread(struct switches *s, uint32_t slot, struct trace_thread *out);
