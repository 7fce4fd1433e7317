/* SPDX-License-Identifier: MIT */
/* Three threads, or as many as the second argument says, that call leaf(), for threaded.sh: as
 * often as the first one says, or until standard input ends. It ends with 7. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 3

static atomic_bool over;
static long calls;

__attribute__((noinline, noclone)) static int leaf(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

static void *work(void *arg)
{
	for (long i = 0; calls ? i < calls : !over; i++) {
		leaf((int)i);
		if (!calls)
			usleep(500);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : THREADS;
	pthread_t threads[THREADS];
	char c;

	calls = argc > 1 ? atol(argv[1]) : 0;
	for (int i = 0; i < n && i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	while (!calls && read(0, &c, 1) > 0)
		;
	over = 1;
	for (int i = 0; i < n && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 7;
}
