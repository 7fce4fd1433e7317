/* SPDX-License-Identifier: MIT */
/* The TSC as CPUID describes it, for collect/clock.c as a session begins. No state; cannot fail.
 * The session's thread calls it. */
#include "arch/stamp.h"

#include <cpuid.h>

bool stamp_is_steady(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
}

/* Leaf 0x15: TSC = crystal * ebx / eax. */
uint64_t stamp_hz(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(0x15, 0, &a, &b, &c, &d) || !a || !b || !c)
		return 0;
	return (uint64_t)c * b / a;
}
