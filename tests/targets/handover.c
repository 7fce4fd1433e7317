/* SPDX-License-Identifier: MIT Two threads hand a turn to each other by an atomic variable, N
 * times: ping() happens before pong() before ping(). With a second argument it then waits for the
 * end of its input. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PATIENCE 2000 /* rounds before the other may need this processor */

static _Alignas(128) atomic_long turn;
static _Alignas(128) volatile long work;
static long rounds;

NOINLINE void ping(void) { work++; __asm__ volatile("nop; nop; nop; nop; nop" : : : "memory"); }
NOINLINE void pong(void) { work++; __asm__ volatile("nop; nop; nop; nop; nop" : : : "memory"); }

static void wait_for(long is)
{
	int patience = 0;

	while (atomic_load(&turn) != is)
		if (++patience > PATIENCE) {
			sched_yield();
			patience = 0;
		}
}

static void *second(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		wait_for(2 * i + 1);
		pong();
		atomic_store(&turn, 2 * i + 2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	pthread_create(&other, NULL, second, NULL);
	for (long i = 0; i < rounds; i++) {
		ping();
		atomic_store(&turn, 2 * i + 1);
		wait_for(2 * i + 2);
	}
	pthread_join(other, NULL);
	puts("done");
	fflush(stdout);
	while (argc > 2 && getchar() != EOF)
		;
	return 0;
}
