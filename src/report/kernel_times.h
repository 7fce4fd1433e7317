/* SPDX-License-Identifier: MIT */
/* Times of a trace of both: when each thread was inside of the kernel's functions, and
 * when it was blocked, by the records that the kernel made of it. */
#pragma once
#include "trace/event.h"

struct kernel_times;

/* Reads the source to its end; of its events those of the kernel count. -errno and *err: it cannot
 * be read. kernel_times_free() frees the result. */
int kernel_times_make(struct source *source, struct kernel_times **out, struct err *err);
void kernel_times_free(struct kernel_times *k); /* NULL is fine */
/* Ticks between two times in which the thread with this number ran in a function of the kernel's
 * that was recorded; and those in which it was blocked: it had gone to sleep (sched:sched_switch).
 * Time in which another thread had the processor, while this one could have gone on, is neither.
 * Read by any number of threads. */
struct kernel_time { uint64_t inside, blocked; };
struct kernel_time kernel_times_between(const struct kernel_times *k, uint32_t tid, uint64_t from,
					uint64_t to);
