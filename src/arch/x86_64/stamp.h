/* SPDX-License-Identifier: MIT */
/* arch/stamp.h for x86-64: the TSC, which lfence makes wait for loads. */
#pragma once

#define STAMP_TOLD_BY "cpuid"
#define STAMP_CLOCK "x86-tsc"
#define STAMP_CLOCK_SINCE "Linux 3.10 on x86"
#define STAMP_WAIT_CODE { 0x0f, 0xae, 0xe8 } /* lfence */

static inline uint64_t stamp_read(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline void stamp_wait(void)
{
	__asm__ volatile("lfence" : : : "memory");
}
