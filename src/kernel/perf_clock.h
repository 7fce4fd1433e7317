/* SPDX-License-Identifier: MIT */
/* The clock that perf stamps the kernel's records by, and the TSC of a stamp. Where the kernel
 * tells how it makes its clock of the TSC (cap_user_time_zero), that is undone, to a nanosecond;
 * elsewhere the clock is CLOCK_MONOTONIC_RAW, and pairs of both clocks, one at each reading, tell
 * the TSC. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct perf_event_mmap_page;

/* ns = zero + (tsc * mult >> shift). mult 0: by the pairs. */
struct kernel_perf_clock {
	int fd;                 /* of an event that records nothing; -1: none */
	struct perf_event_mmap_page *page; /* its page; NULL: none */
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
	uint64_t tsc[2], ns[2]; /* the reading before, and this one */
};

/* 0, or -errno: perf may not be used here. kernel_perf_clock_close() is required in either case. */
int kernel_perf_clock_open(struct kernel_perf_clock *c);
/* Whether events are to be stamped by CLOCK_MONOTONIC_RAW. It does not change. */
bool kernel_perf_clock_is_raw(const struct kernel_perf_clock *c);
/* Reads the clocks, before the records that are to be placed. */
void kernel_perf_clock_read(struct kernel_perf_clock *c);
/* The TSC of a record's stamp. */
uint64_t kernel_perf_clock_tsc(const struct kernel_perf_clock *c, uint64_t stamp);
void kernel_perf_clock_close(struct kernel_perf_clock *c);
