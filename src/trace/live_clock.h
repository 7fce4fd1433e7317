/* SPDX-License-Identifier: MIT */
/* Times of records that are shown while they come, where the TSC is not steady. The pairs of clocks
 * (clock_pairs.h) that put them right are not all measured yet. So each CPU has a line that its
 * latest pairs lead on: a time that was shown once stays, and a pair that lies beside the line
 * bends what is to come. */
#pragma once
#include "trace/event.h"

struct live_clock;

/* Makes one without pairs: all stamps stay as they are. Freed by live_clock_free(). */
struct live_clock *live_clock_new(void);
/* Takes those of info's pairs that are new since the last call. now_ns: CLOCK_MONOTONIC_RAW;
 * stamps from before it keep their times, to a tick. info->clock.hz is known. */
void live_clock_add(struct live_clock *l, const struct trace_info *info, uint64_t now_ns);
/* Returns a stamp of this CPU as the TSC that a steady one would have had. A stamp of a CPU without
 * pairs stays as it is. Rises as the stamps do. */
uint64_t live_clock_tsc(const struct live_clock *l, uint16_t cpu, uint64_t tsc);
/* The steady TSC at this time of CLOCK_MONOTONIC_RAW; 0: there are no pairs. */
uint64_t live_clock_at(const struct live_clock *l, uint64_t ns);
/* The error of the times, in ns: how far a pair lay from its CPU's line when it came, at most, and
 * half of the longest reading of a pair. */
uint64_t live_clock_error(const struct live_clock *l);
/* How many pairs were taken. */
size_t live_clock_pairs(const struct live_clock *l);
/* NULL is fine. */
void live_clock_free(struct live_clock *l);
