/* SPDX-License-Identifier: MIT */
/* Times of a trace whose TSC is not steady: pairs of the processor's TSC and of
 * CLOCK_MONOTONIC_RAW, measured on each CPU again and again, tell what the one clock was when the
 * other was read. A stamp becomes the TSC that a steady one would have had, which begins as the
 * first pair does. */
#pragma once
#include "trace/trace_info.h"

struct clock_pairs;

/* Returns a * b / c without overflow in between, at most the largest number; 0: c is. */
uint64_t clock_scaled(uint64_t a, uint64_t b, uint64_t c);
/* The steady TSC at this time of CLOCK_MONOTONIC_RAW: by the first pair of all and the rate. */
uint64_t clock_pair_steady(const struct trace_clock_pair *first, uint64_t hz, uint64_t ns);

/* Makes it of info's pairs, which may come in any order of CPUs. NULL: there are none. Freed by
 * clock_pairs_free(). */
struct clock_pairs *clock_pairs_new(const struct trace_info *info);
/* A stamp of this CPU, put right: between two pairs by the straight line, outside by the clock's
 * rate. A stamp of a CPU without pairs stays as it is. */
uint64_t clock_pairs_tsc(const struct clock_pairs *p, uint16_t cpu, uint64_t tsc);
/* The most ticks by which a stamp between two pairs is moved, either way. */
uint64_t clock_pairs_reach(const struct clock_pairs *p);
/* The error that the result may have, in ns: the longest reading of a pair, and the distance of a
 * pair from the line between its neighbours. */
uint64_t clock_pairs_error(const struct clock_pairs *p);
/* NULL is fine. */
void clock_pairs_free(struct clock_pairs *p);
