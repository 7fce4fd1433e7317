/* SPDX-License-Identifier: MIT */
/* Time for waits with an end, of CLOCK_MONOTONIC, which nobody sets. Any thread. */
#pragma once
#include <stdint.h>
#include <time.h>

/* In milliseconds. */
static inline uint64_t monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* In nanoseconds. */
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
