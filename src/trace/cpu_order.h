/* SPDX-License-Identifier: MIT */
/* The order of a thread's records for readers that merge CPUs by time, as trace-cmd does. The clock
 * of some machines counts in steps of ten nanoseconds: two records within a step have one time, and
 * if the thread moved to another CPU between them, the merge puts the lower CPU's first. */
#pragma once
#include "base/vec.h"

#include <stdint.h>

/* A thread's latest record. */
struct cpu_order_thread {
	uint64_t ns;
	uint32_t cpu;
};

/* One for each thread of a trace, by its number. Starts as zeros. Not locked. */
struct cpu_order {
	VEC(struct cpu_order_thread) threads;
};

/* The time to write for a thread's next record, made on that CPU at ns: one nanosecond behind the
 * thread's record before if that has the same time and was made on another CPU, else ns. */
uint64_t cpu_order_time(struct cpu_order *o, uint32_t thread, uint32_t cpu, uint64_t ns);
void cpu_order_free(struct cpu_order *o);
