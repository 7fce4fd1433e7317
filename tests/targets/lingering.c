/* SPDX-License-Identifier: MIT */
/* A thread calls wait_for_end(), which has no record any more until the program ends, from inside
 * of it; the first thread goes on calling work(). So wait_for_end() is open in most of the
 * trace. */
#include <pthread.h>
#include <stdint.h>
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

int main(void)
{
	pthread_t thread;
	int sum = 0;

	if (pthread_create(&thread, NULL, wait_there, NULL))
		return 1;
	while (!waits)
		sum += work(sum);
	for (int i = 0; i < 100000; i++)
		sum += work(i);
	_exit(sum == 1);
}
