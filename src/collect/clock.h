/* SPDX-License-Identifier: MIT */
/* The TSC in real units: its frequency from CPUID, else from the kernel's own calibration
 * (perf's user page), else, or if these are not true, measured against CLOCK_MONOTONIC_RAW; and one instant on all clocks. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "trace/trace_info.h"

struct clock {
	uint64_t first_tsc, first_ns; /* one instant on the TSC and CLOCK_MONOTONIC_RAW */
	uint64_t cpuid_hz, kernel_hz; /* 0 = does not say */
	pthread_t thread;
	bool asking, settled;
	bool steady; /* else the TSC's rate changes, or its counts differ between processors: times are not to be relied on */
};

/* Begins; asking the kernel goes on beside what follows. */
void clock_begin(struct clock *c);
/* The first result. Takes at least 2 ms from clock_begin. */
void clock_settle(struct clock *c, struct trace_clock *out);
/* A better figure: measured over all the time since clock_begin, or the one that this confirms to a hundredth. */
void clock_refine(struct clock *c, struct trace_clock *clock);
void clock_end(struct clock *c); /* must be called before c goes away */
uint64_t clock_tsc(void);
/* One instant on the TSC and CLOCK_MONOTONIC_RAW, as well as two clocks can be read. */
void clock_instant(uint64_t *tsc, uint64_t *ns);
