/* SPDX-License-Identifier: MIT */
/* Threads that stand in known calls, for tests/run/stack.sh: in a lock, in a signal's handler that
 * interrupted a callback of libc, in a deep recursion, and in a loop without a system call. "ready"
 * is printed when all do. With "go" on standard input it goes on, and ends with 7. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NEVER_INLINE __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")
#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;
static atomic_int stand;

NEVER_INLINE static void take_lock(void)
{
	stand++;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

NEVER_INLINE static void on_signal(int sig)
{
	take_lock();
	NO_TAIL_CALL;
}

static int compare(const void *a, const void *b)
{
	raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

NEVER_INLINE static int recurse(int n)
{
	int below;

	if (!n) {
		take_lock();
		return 0;
	}
	below = recurse(n - 1);
	NO_TAIL_CALL;
	return below + 1;
}

NEVER_INLINE static void spin(void)
{
	stand++;
	while (!over)
		;
}

static void *stand_somewhere(void *of)
{
	int both[] = { 1, 2 };

	switch ((int)(long)of) {
	case 0: take_lock(); break;
	case 1: qsort(both, 2, sizeof(*both), compare); break;
	case 2: recurse(300); break;
	default: spin();
	}
	NO_TAIL_CALL;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char line[8];

	signal(SIGUSR1, on_signal);
	pthread_mutex_lock(&lock);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, stand_somewhere, (void *)i))
			return 1;
	while (stand < THREADS)
		sched_yield();
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	over = true;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 7;
}
