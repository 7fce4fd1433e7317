/* SPDX-License-Identifier: MIT */
/* A session's records as they come, for who keeps them: the live tree. Two roles, which may be two threads: the
 * pump calls tap_pass, tap_over, tap_wait; whoever names what was pumped calls tap_settle, one at a time, and has
 * tap_info to himself meanwhile. */
#pragma once
#include "collect/drain.h"
#include "session/session.h"

/* One pass over the buffers. last: nobody writes any more, everything comes out, and attached processes are left;
 * losses that no run could carry are added to *lost. 0, or what the sink said. */
int tap_pass(struct session *s, bool last, drain_sink *sink, void *context, uint64_t *lost, struct err *err);
/* The program has ended, and all its children. */
bool tap_over(struct session *s);
/* Until a thread's buffers fill, tap_wake is called, or a moment has passed. */
void tap_wait(struct session *s);
void tap_wake(struct session *s); /* from any thread */

/* The thread in tap_info of a run (its words do not matter). -EPROTO: the traced program spoiled the memory. */
int tap_settle(struct session *s, const struct drain_run *run, uint32_t *thread, struct err *err);
/* New images, modules, call sites, notes. */
void tap_catch_up(struct session *s);
struct trace_info *tap_info(struct session *s);
/* Whether names of threads that come from now on are kept. When they are again, those that run have theirs. Under the same
 * lock as tap_settle. */
void tap_name_threads(struct session *s, bool named);
/* Who made a run. */
pid_t tap_pid(const struct session *s, uint32_t slot, pid_t *tid);
