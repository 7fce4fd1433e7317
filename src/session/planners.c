/* SPDX-License-Identifier: MIT */
/* Owned by the control; only its socket thread gives and takes (agent_socket.c). p->lock
 * protects the two lists: jobs to run, and jobs that were run. As many threads as processors, 2
 * at least and 8 at most: they read and compute. Only starting them can fail. */
#include "session/planners.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/flag.h"
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
	atomic_bool stopping;   /* also for a wait aside, which ends then */
	VEC(pthread_t) threads;
};

/* First in, first out; the job carries the link itself, so that giving one cannot fail. Both
 * functions need p->lock. */
static void add_job(struct job_list *l, struct plan_job *job)
{
	job->next = NULL;
	*l->end = job;
	l->end = &job->next;
}

/* The oldest; NULL: none. With p->lock held. */
static struct plan_job *take_job(struct job_list *l)
{
	struct plan_job *job = l->first;

	if (job)
		l->first = job->next;
	if (!l->first)
		l->end = &l->first;
	return job;
}

/* A planner's thread: runs jobs, oldest first, until it is stopped. */
static void *planner_work(void *context)
{
	struct planners *p = context;
	struct plan_job *job;

	aside_until(&p->stopping);
	pthread_mutex_lock(&p->lock);
	while (!flag_is_set(&p->stopping)) {
		job = take_job(&p->todo);
		if (!job) {
			pthread_cond_wait(&p->given, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
		add_job(&p->ready, job);
		pthread_mutex_unlock(&p->lock);
		/* Without the lock: `done` wakes the socket thread, which comes for the job. */
		p->done(p->context);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* sysconf() gives -1 where it does not know, which becomes THREADS_MIN. */
static long threads_wanted(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < THREADS_MIN ? THREADS_MIN : n > THREADS_MAX ? THREADS_MAX : n;
}

/* done is called on a planner's thread for each job that is ready: it wakes the socket thread. */
int planners_start(void (*done)(void *context), void *context, struct planners **out,
		   struct err *err)
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
	while ((long)p->threads.n < wanted &&
	       (e = pthread_create(&thread, NULL, planner_work, p)) == 0)
		*vec_add(&p->threads) = thread;
	if (!p->threads.n) { /* fewer threads will do */
		planners_stop(p);
		return err_set(err, e, "cannot start a thread: %s", strerror(e));
	}
	*out = p;
	return 0;
}

/* The job is the planners' until planners_take() gives it back. */
void planners_give(struct planners *p, struct plan_job *job)
{
	pthread_mutex_lock(&p->lock);
	add_job(&p->todo, job);
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->lock);
}

/* A job that is ready, NULL: none now. Does not wait. */
struct plan_job *planners_take(struct planners *p)
{
	struct plan_job *job;

	pthread_mutex_lock(&p->lock);
	job = take_job(&p->ready);
	pthread_mutex_unlock(&p->lock);
	return job;
}

/* Jobs that were not run stay in the lists: agent_socket_close() frees its own. A job that runs is
 * finished first, except for its waits (aside_until). */
void planners_stop(struct planners *p)
{
	pthread_mutex_lock(&p->lock);
	flag_set(&p->stopping);
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->threads.n; i++)
		pthread_join(p->threads.at[i], NULL);
	vec_free(&p->threads);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->given);
	free(p);
}
