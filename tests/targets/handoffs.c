/* Hands jobs over to another thread: a histogram is to make latencies of that. Commands, a line at
 * a time:
 *
 *	N     jobs 1 to N: this thread emits jobs:woken, and gives the job away; the other emits
 *	      jobs:began, then jobs:ended
 *	lN    the other begins N jobs that nobody woke
 *	q     ends
 *
 * The first line says "ready"; every other one is answered with "done". Every fourth job begins
 * 2 ms after it was woken, or later. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "brace/event.h"

BRACE_EVENT(jobs, woken,
	BRACE_PROTO(int job, int prio),
	BRACE_ARGS(job, prio),
	BRACE_FIELDS(BRACE_FIELD(int, job, job), BRACE_FIELD(int, prio, prio)),
	BRACE_PRINT("job=%d prio=%d", REC->job, REC->prio))
BRACE_EVENT(jobs, began,
	BRACE_PROTO(int job, const char *name),
	BRACE_ARGS(job, name),
	BRACE_FIELDS(BRACE_FIELD(int, job, job), BRACE_STRING(name, name)),
	BRACE_PRINT("job=%d name=%s", REC->job, __get_str(name)))
BRACE_EVENT(jobs, ended,
	BRACE_PROTO(int job, unsigned long cost),
	BRACE_ARGS(job, cost),
	BRACE_FIELDS(BRACE_FIELD(int, job, job), BRACE_FIELD(unsigned long, cost, cost)),
	BRACE_PRINT("job=%d cost=%lu", REC->job, REC->cost))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int given;

static void run(int job)
{
	char name[32];

	snprintf(name, sizeof(name), "job%%%d", job % 3);
	if (job % 4 == 0)
		usleep(2000);
	brace_jobs_began(job, name);
	brace_jobs_ended(job, 10ul * (unsigned)job);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!given)
			pthread_cond_wait(&turn, &lock);
		run(given);
		given = 0;
		pthread_cond_broadcast(&turn);
	}
	return arg;
}

static void give(int job, int woken)
{
	pthread_mutex_lock(&lock);
	if (woken)
		brace_jobs_woken(job, job % 7);
	given = job;
	pthread_cond_broadcast(&turn);
	while (given)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	char line[32];
	pthread_t t;

	if (pthread_create(&t, NULL, worker, NULL))
		return 1;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		int alone = *line == 'l', n = atoi(line + alone);

		for (int i = 1; i <= n; i++)
			give(alone ? 100000 + i : i, !alone);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
