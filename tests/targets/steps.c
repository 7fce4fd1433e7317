/* Takes steps when it is told to, a line at a time, and emits two events for each: their numbers go
 * up with time, whichever thread takes them, so what was recorded of them between two moments is
 * known exactly.
 *
 *	N     N steps
 *	tN    the same, by four threads that take turns, one step each
 *	q     ends
 *
 * Every line is answered with "done STEPS", steps taken since it began. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "brace/event.h"

#define THREADS 4

BRACE_EVENT(steps, step,
	BRACE_PROTO(long n, int who),
	BRACE_ARGS(n, who),
	BRACE_FIELDS(BRACE_FIELD(long, n, n), BRACE_FIELD(int, who, who)),
	BRACE_PRINT("n=%ld who=%d", REC->n, REC->who))

BRACE_EVENT(steps, stepped,
	BRACE_PROTO(long n, int who),
	BRACE_ARGS(n, who),
	BRACE_FIELDS(BRACE_FIELD(long, n, n), BRACE_FIELD(int, who, who)),
	BRACE_PRINT("n=%ld who=%d", REC->n, REC->who))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static long steps, target;

__attribute__((noinline)) static void leg(int who)
{
	brace_steps_step(steps, who);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void pace(int who)
{
	leg(who);
	brace_steps_stepped(steps, who);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void *walk(void *arg)
{
	int who = (int)(long)arg;

	pthread_mutex_lock(&lock);
	while (steps < target) {
		while (who && steps < target && steps % THREADS + 1 != who)
			pthread_cond_wait(&turn, &lock);
		if (steps == target)
			break;
		steps++;
		pace(who);
		pthread_cond_broadcast(&turn);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void together(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, walk, (void *)(i + 1)))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		target = steps + atol(line + (*line == 't'));
		if (*line == 't')
			together();
		else
			walk(NULL);
		printf("done %ld\n", steps);
	}
	return 0;
}
