/* The TSC in real units. */
#pragma once
#include "source/trace_info.h"

/* Ticks a second from CPUID, else from the kernel's own calibration (perf's user page), else
 * measured against CLOCK_MONOTONIC_RAW; and one instant on all three clocks. */
void clock_calibrate(struct trace_clock *out);
uint64_t clock_tsc(void);
