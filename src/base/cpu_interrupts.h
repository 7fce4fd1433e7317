/* SPDX-License-Identifier: MIT */
/* The number of interrupts that one processor has had, by /proc/interrupts and /proc/softirqs,
 * which anybody may read. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cpu_interrupts { uint64_t nmis, interrupts, softirqs; };

/* Sums the column of that processor of any bytes: rows of the name `only`, or of all others than
 * `but`; NULL: of all. 0: there is no such column. */
uint64_t cpu_interrupts_column(const char *bytes, size_t n, unsigned cpu, const char *only,
			       const char *but);
/* Reads both files. What cannot be read is 0. */
void cpu_interrupts_read(unsigned cpu, struct cpu_interrupts *out);
