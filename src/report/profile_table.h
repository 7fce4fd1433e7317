/* SPDX-License-Identifier: MIT */
/* The table of ftrace's function profiler, trace_stat/functionN, to the byte: hits, times and their
 * variance.
 *
 * The kernel's s^2 is (n * sum of squares - square of the sum) / (n * (n - 1) * 1000) in ns,
 * computed in 64 bits, which a few seconds of calls overflow. Here it is the same number without
 * the overflow. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

struct profile_sums {
	uint64_t hits;             /* calls, also those that have not ended */
	uint64_t ticks;            /* of calls that have ended */
	unsigned __int128 squares; /* sum of the squares of their ticks */
};

struct profile_row {
	char *name;
	struct profile_sums sums;
};

/* Adds `from` to *to. */
void profile_sums_add(struct profile_sums *to, const struct profile_sums *from);
/* The number printed under s^2. */
uint64_t profile_variance(const struct profile_sums *s, const struct trace_clock *clock);
/* Sorts the rows, the longest time first, equal ones by name, and prints them. Rows whose average
 * is below thresh_ns are left out. */
void profile_print(struct profile_row *rows, size_t n, const struct trace_clock *clock,
		   uint64_t thresh_ns, struct out *out);
