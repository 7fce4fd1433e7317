/* SPDX-License-Identifier: MIT */
/* A thread calls wait_for_end(), which has no record any more until the program ends, from inside
 * of it; the first thread goes on calling work(). So wait_for_end() is open in most of the
 * trace. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))

static volatile int waits;

PLAIN void wait_for_end(void)
{
	waits = 1;
	for (;;)
		pause();
}

static void *wait_there(void *arg)
{
	wait_for_end();
	return arg;
}

PLAIN int work(int n)
{
	volatile int kept = n;

	return kept * 3;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	int64_t began = now_ns(), late;
	pthread_t thread;
	int sum = 0;

	if (pthread_create(&thread, NULL, wait_there, NULL))
		return 1;
	while (!waits)
		sum += work(sum);
	/* On a busy machine the thread begins late: most of the trace is what comes after that. */
	late = now_ns() - began;
	for (int i = 0; i < 100000 || now_ns() - began < 10 * late; i++)
		sum += work(i);
	_exit(sum == 1);
}
