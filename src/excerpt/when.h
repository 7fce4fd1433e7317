/* SPDX-License-Identifier: MIT */
/* Points of time in a trace, as people write them. */
#pragma once
#include "base/err.h"
#include "trace/trace_info.h"

/* The records of a trace lie between these, both included. */
struct excerpt_range { uint64_t first, last; };

/* Reads
 *	12345.678901   seconds, as traces print them
 *	+1.5s          after the first record (a bare number: seconds)
 *	-200ms         before the last record
 *	25%            of the way from the first record to the last
 * into a TSC. `end`: a printed time means all of its microsecond. Times before the first record and
 * after the last are allowed. 0, or -EINVAL or -ERANGE and *err with the column. */
int excerpt_when(const char *text, const struct trace_clock *clock,
		 const struct excerpt_range *range, bool end, uint64_t *out, struct err *err);
/* The first TSC whose time, as trace_clock_ns() gives it, is at least `ns`. */
uint64_t excerpt_tsc_at(const struct trace_clock *c, uint64_t ns);
