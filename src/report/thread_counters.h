/* SPDX-License-Identifier: MIT */
/* The kernel's counts of each thread of a trace: when it was off the processor, and its page
 * faults, by the events sched:sched_switch and exceptions:page_fault_user. */
#pragma once
#include "trace/event.h"

struct thread_counters;

/* Whether the trace has the events, and not the kernel's own records of them (brace record -k).
 * 0, or -ENOENT and *err. */
int thread_counters_check(const struct trace_info *info, struct err *err);
/* Reads the source to its end. -errno and *err: it cannot be read. thread_counters_free() frees the
 * result. */
int thread_counters_make(struct source *source, struct thread_counters **out, struct err *err);
void thread_counters_free(struct thread_counters *c); /* NULL is fine */

/* Between two times: ticks on a processor, and asleep; how often the thread left the processor, and
 * page faults. What is neither on a processor nor asleep was waiting for one. */
struct thread_count { uint64_t cpu, asleep, switches, faults; };
/* The counts of the thread with this number. Read by any number of threads. */
struct thread_count thread_counters_between(const struct thread_counters *c, uint32_t tid,
					    uint64_t from, uint64_t to);
