/* SPDX-License-Identifier: MIT */
/* Two moments matched by a key: N pairs of calls, begins(key) and ends(key), with 256 keys in turn,
 * all that are open at once. With a second argument, at most so many pairs a second. Prints the
 * nanoseconds of processor time and of the clock that each pair took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEYS 256L
#define APART __attribute__((noinline, noclone))

APART long begins(long key)
{
	__asm__ volatile("" : : "r"(key));
	return key;
}

APART long ends(long key)
{
	__asm__ volatile("" : : "r"(key));
	return key;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) / KEYS * KEYS : 0, rate = argc > 2 ? atol(argv[2]) : 0;
	double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID), most = 0;

	for (long i = 0; i < n; i += KEYS) {
		/* Paced by sleep, so that its processor is the tracer's meanwhile. */
		double due = rate ? begin + (double)i * 1e9 / (double)rate : 0;
		struct timespec t = { (time_t)(due / 1e9), (long)(due - (double)(time_t)(due / 1e9) * 1e9) };
		double late = now(CLOCK_MONOTONIC) - due;

		if (rate && late < 0)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		most = rate && late > most ? late : most;
		for (long k = 0; k < KEYS; k++)
			begins(k);
		for (long k = 0; k < KEYS; k++)
			ends(k);
	}
	if (!n)
		return 1;
	printf("pairs %ld cpu %.1f wall %.1f late %.0f\n", n,
	       (now(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)n,
	       (now(CLOCK_MONOTONIC) - begin) / (double)n, most);
	return 0;
}
