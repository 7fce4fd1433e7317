/* SPDX-License-Identifier: MIT */
/* The cost of an event of a program's own: bench:sale, three integers, in a loop. Prints `ns` an
 * iteration, of the empty loop and of a bare rdtsc too: in a traced run the first is the event
 * enabled, or rejected, or as a nop. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#include "brace/event.h"

BRACE_EVENT(bench, sale,
	BRACE_PROTO(long customer, int cents, unsigned shop),
	BRACE_ARGS(customer, cents, shop),
	BRACE_FIELDS(BRACE_FIELD(long, customer, customer), BRACE_FIELD(int, cents, cents), BRACE_FIELD(unsigned, shop, shop)),
	BRACE_PRINT("customer=%ld cents=%d shop=%u", REC->customer, REC->cents, REC->shop))

#define CALLS 4000000L

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Opaque to the optimiser, one instruction or none. */
#define KEEP(v) __asm__ volatile("" : "+r"(v))

static double empty(void)
{
	double begin = now();

	for (long i = 0; i < CALLS; i++)
		KEEP(i);
	return (now() - begin) / CALLS;
}

static double rdtsc(void)
{
	double begin = now();

	for (long i = 0; i < CALLS; i++) {
		unsigned long long t = __rdtsc();

		KEEP(t);
	}
	return (now() - begin) / CALLS;
}

static double event(void)
{
	double begin = now();

	for (long i = 0; i < CALLS; i++) {
		KEEP(i);
		brace_bench_sale(i, 250, 7);
	}
	return (now() - begin) / CALLS;
}

int main(void)
{
	double loop = empty(), bare = rdtsc() - loop, with = event() - loop;

	printf("rdtsc %.3f event %.3f\n", bare, with);
	return 0;
}
