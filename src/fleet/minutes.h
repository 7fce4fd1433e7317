/* SPDX-License-Identifier: MIT */
/* Sums of calls by function and minute, with a histogram of durations that can be added up over
 * hosts: four buckets to a factor of two, so that a percentile is known within 19 %. */
#pragma once
#include <stdint.h>

#include "base/number_map.h"
#include "base/vec.h"

/* Number of the bucket of a duration, 0 to 251; ns below 4 have one each. */
static inline uint8_t fleet_bucket(uint64_t ns)
{
	unsigned log;

	if (ns < 4)
		return (uint8_t)ns;
	log = 63u - (unsigned)__builtin_clzll(ns);
	return (uint8_t)(4 * (log - 1) + ((ns >> (log - 2)) & 3));
}

struct fleet_minute {
	uint32_t minute, function;     /* seconds since 1970; the caller's number */
	uint64_t calls, timed;         /* timed: of which a duration is known */
	/* of these, in ns; total has no call inside of one of the same function */
	uint64_t durations, total, self, least, most;
	VEC(uint8_t) buckets;          /* in the order in which they were met */
	VEC(uint64_t) counts;
};

/* Zeroed, it has none. */
struct fleet_minutes {
	VEC(struct fleet_minute) rows;
	struct number_map index;
	/* Rows of the latest minute: 1 + the row of each function; 0: it has none. A map for each
	 * call would take as long as all the rest of a sum. */
	uint32_t latest;
	VEC(uint32_t) latest_rows;
};

/* A call's times in ns: its duration, what it adds to its function's total, and its own. */
struct fleet_times { uint64_t duration, total, self; };

/* Adds a call that ended at that second. */
void fleet_minutes_add(struct fleet_minutes *m, uint64_t second, uint32_t function,
		       const struct fleet_times *t);
/* Adds a call whose return was not followed. */
void fleet_minutes_count(struct fleet_minutes *m, uint64_t second, uint32_t function);
/* Sorts the rows by minute, then by function. Nothing is added after it before the next clear. */
void fleet_minutes_sort(struct fleet_minutes *m);
void fleet_minutes_clear(struct fleet_minutes *m);
