/* SPDX-License-Identifier: MIT */
/* Twenty thousand call sites of one function, in a hundred functions, called in turn: `sites
 * ROUNDS`. Prints what a call of the first round cost, and the least that one of a later round did,
 * by the thread's own time. f() is long enough for every peer to patch. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES10(x) x x x x x x x x x x
#define ONES(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define HUNDRED(m) ONES(m, 1) ONES(m, 2) ONES(m, 3) ONES(m, 4) ONES(m, 5) ONES(m, 6) ONES(m, 7) ONES(m, 8) ONES(m, 9) ONES(m, 10)
#define CALLS 20000

__attribute__((noipa)) long f(long x)
{
	volatile long kept;

	kept = x;
	return kept * 3 + (x ^ 0x1234567);
}

#define CALL x = f(x + 3);
#define CALLER(n) __attribute__((noipa)) static long caller_##n(long x) { TIMES10(TIMES10(CALL CALL)) return x; }
#define NAME(n) caller_##n,
HUNDRED(CALLER)
static long (*const callers[])(long) = { HUNDRED(NAME) };

static double round_of_calls(long *x)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (unsigned i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		*x = callers[i](*x);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / CALLS;
}

int main(int argc, char **argv)
{
	long x = argc, rounds = argc > 1 ? atol(argv[1]) : 10;
	double least = 1e9;

	printf("first %.1f ns\n", round_of_calls(&x));
	while (rounds-- > 0) {
		double now = round_of_calls(&x);

		least = now < least ? now : least;
	}
	printf("later %.1f ns\n", least);
	return x == 0;
}
