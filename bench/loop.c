/* SPDX-License-Identifier: MIT */
/* The tight loop. One run prints, in nanoseconds of this thread's CPU time each: two bare
 * rdtsc, and a call of f(), the only function that any tracer is to see. f() reads and writes
 * its stack so that it is long enough for every peer to patch. `loop CALLS`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((noinline, no_instrument_function))

__attribute__((noinline)) int f(int n)
{
	volatile int kept;

	kept = n;
	return kept * 3 + (n ^ 0x1234567);
}

PLAIN static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

__attribute__((no_instrument_function)) static inline uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

PLAIN static double two_rdtsc(long n)
{
	double begin = now();

	for (long i = 0; i < n; i++) {
		rdtsc();
		rdtsc();
	}
	return (now() - begin) / n;
}

PLAIN static double calls(long n)
{
	double begin = now();
	volatile int x = 0;

	for (long i = 0; i < n; i++)
		x = f(i);
	return (now() - begin) / n;
}

PLAIN int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000000;
	double bare;

	calls(1000);
	two_rdtsc(n / 10);
	bare = two_rdtsc(n);
	printf("rdtsc %.3f call %.3f\n", bare, calls(n));
	return 0;
}
