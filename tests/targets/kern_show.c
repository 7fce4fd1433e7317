/* SPDX-License-Identifier: MIT
 * A second function of the name that one of kern.c's has, as many of the kernel's files have one of
 * their own: a probe by that name does not say which. */
#include "kern_show.h"

static __attribute__((noinline, noclone)) long name_show(long n)
{
	__asm__ volatile("" : : : "memory");
	return n + 2;
}

long shown_elsewhere(long n)
{
	return name_show(n) * 2;
}
