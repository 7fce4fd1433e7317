/* SPDX-License-Identifier: MIT */
/* The latency tracers wakeup, wakeup_rt and wakeup_dl: of all wake-ups of an instance, the longest
 * one's records are set aside, in the place of its snapshot, for `trace` to show. Who wakes whom is
 * found from system calls and switches (report/wakeup.h), as triggers look at them; here is what
 * happens when a pair is found. */
#pragma once
#include "instance/buffer.h"
#include "report/wakeup.h"

/* Returns the kernel's priority of a thread (p->prio: 120 for the usual one, below 100 if
 * real-time); that of the usual policy if the thread has ended. */
int wakes_priority(pid_t tid);
/* Keeps the wake-up if it is of a thread that the instance's tracer watches and longer than the
 * longest so far, or not shorter than tracing_thresh if that is set. All records up to the
 * wake-up's end are in the ring. Needs pump_lock. `events`: the instance's catalogue. */
void wakes_take(struct buffer *b, const struct trace_info *info, struct event_catalogue *events,
		const struct wakeup_found *f);
