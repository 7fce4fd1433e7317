/* SPDX-License-Identifier: MIT */
/* Two threads that do nothing but call, for SECONDS: `pair SECONDS` prints calls, and calls a
 * second. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds;

__attribute__((noinline)) int f(int n)
{
	volatile int kept = n;

	return kept * 3 + (n ^ 0x1234567);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *run(void *arg)
{
	double end = now() + seconds;
	volatile int x = 0;
	long n = 0;

	while (now() < end)
		for (int i = 0; i < 10000; i++, n++)
			x = f(x);
	return (void *)n;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	long all = 0;
	double begin;
	void *n;

	seconds = argc > 1 ? atof(argv[1]) : 10;
	begin = now();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &n);
		all += (long)n;
	}
	printf("calls %ld rate %.0f\n", all, all / (now() - begin));
	return 0;
}
