/* SPDX-License-Identifier: MIT */
/* Owned by the control; its door gives and takes (door.c). Two lists, of jobs to be run and of those that are. As many
 * threads as processors: what they do is reading and computing. Only starting them can fail. */
#include "session/planners.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

#define THREADS_MIN 2 /* one may wait for a disk */
#define THREADS_MAX 8

struct job_list { struct plan_job *first, **end; };

struct planners {
	pthread_mutex_t lock;
	pthread_cond_t given;
	struct job_list todo, ready;
	void (*done)(void *context);
	void *context;
	bool stopping;
	VEC(pthread_t) threads;
};

static void add(struct job_list *l, struct plan_job *job)
{
	job->next = NULL;
	*l->end = job;
	l->end = &job->next;
}

static struct plan_job *take(struct job_list *l)
{
	struct plan_job *job = l->first;

	if (job)
		l->first = job->next;
	if (!l->first)
		l->end = &l->first;
	return job;
}

static void *work(void *context)
{
	struct planners *p = context;
	struct plan_job *job;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		job = take(&p->todo);
		if (!job) {
			pthread_cond_wait(&p->given, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
		add(&p->ready, job);
		pthread_mutex_unlock(&p->lock);
		p->done(p->context);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static long threads_wanted(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < THREADS_MIN ? THREADS_MIN : n > THREADS_MAX ? THREADS_MAX : n;
}

int planners_start(void (*done)(void *context), void *context, struct planners **out, struct err *err)
{
	struct planners *p = mem_zalloc(sizeof(*p));
	long wanted = threads_wanted();
	pthread_t thread;
	int e = 0;

	p->todo.end = &p->todo.first;
	p->ready.end = &p->ready.first;
	p->done = done;
	p->context = context;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->given, NULL);
	while ((long)p->threads.n < wanted && (e = pthread_create(&thread, NULL, work, p)) == 0)
		*vec_add(&p->threads) = thread;
	if (!p->threads.n) { /* fewer will do */
		planners_stop(p);
		return err_set(err, e, "cannot start a thread: %s", strerror(e));
	}
	*out = p;
	return 0;
}

void planners_give(struct planners *p, struct plan_job *job)
{
	pthread_mutex_lock(&p->lock);
	add(&p->todo, job);
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->lock);
}

struct plan_job *planners_take(struct planners *p)
{
	struct plan_job *job;

	pthread_mutex_lock(&p->lock);
	job = take(&p->ready);
	pthread_mutex_unlock(&p->lock);
	return job;
}

void planners_stop(struct planners *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->threads.n; i++)
		pthread_join(p->threads.at[i], NULL);
	vec_free(&p->threads);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->given);
	free(p);
}
