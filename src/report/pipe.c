/* SPDX-License-Identifier: MIT */
/* A bounded queue between one producer and one consumer, used by summary.c for threads that hold
 * most of a trace. p->lock protects the counters; batches are written and read without it, since
 * each belongs to one side at a time. */
#include "report/pipe.h"

#include <errno.h>
#include <pthread.h>

/* Batches in flight: enough that neither side waits for each hand-over. */
#define BATCHES 8

struct batch { size_t n; struct event events[PIPE_EVENTS]; };

struct pipe {
	int (*fill)(void *of, struct event *out, size_t n, struct err *err);
	void *of;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	/* numbers of batches; made - used <= BATCHES. The consumer holds batch used - 1 */
	unsigned made, used;
	bool holding, ended, stop;
	int result;            /* of fill, when ended */
	struct err err;
	struct batch *batches;
};

/* Waits for a batch to fill. NULL: the consumer wants no more. */
static struct batch *wait_for_room(struct pipe *p)
{
	struct batch *b;

	pthread_mutex_lock(&p->lock);
	/* The batch that the consumer reads counts as used, but is not free yet. */
	while (p->made - p->used + p->holding >= BATCHES && !p->stop)
		pthread_cond_wait(&p->moved, &p->lock);
	b = p->stop ? NULL : &p->batches[p->made % BATCHES];
	pthread_mutex_unlock(&p->lock);
	return b;
}

/* Passes the filled batch on, or the end. Until `made` counts the batch, only this thread has
 * it. */
static void hand_over(struct pipe *p, struct batch *b, int result)
{
	pthread_mutex_lock(&p->lock);
	if (result > 0) {
		b->n = (size_t)result;
		p->made++;
	} else {
		p->ended = true;
		p->result = result;
	}
	pthread_cond_signal(&p->moved);
	pthread_mutex_unlock(&p->lock);
}

/* The pipe's thread: fills batches until the source ends, fails or the reader stops. */
static void *run_reader(void *arg)
{
	struct pipe *p = arg;
	struct batch *b;
	int result = 1;

	while (result > 0 && (b = wait_for_room(p))) {
		result = p->fill(p->of, b->events, PIPE_EVENTS, &p->err);
		hand_over(p, b, result);
	}
	return NULL;
}

struct pipe *pipe_start(int (*fill)(void *of, struct event *out, size_t n, struct err *err),
			void *of)
{
	struct pipe *p = mem_zalloc(sizeof(*p));

	p->fill = fill;
	p->of = of;
	p->batches = mem_realloc(NULL, BATCHES, sizeof(*p->batches));
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->moved, NULL);
	/* Without a thread the pipe has ended at once, with that error: pipe_next() gives it. */
	if (pthread_create(&p->thread, NULL, run_reader, p)) {
		p->ended = true;
		p->result =
			err_set(&p->err, EAGAIN, "cannot start a thread to read the trace with");
		p->stop = true;
	}
	return p;
}

int pipe_next(struct pipe *p, const struct event **events, size_t *n, struct err *err)
{
	int result = 0;

	*n = 0;
	pthread_mutex_lock(&p->lock);
	/* The batch given last is free again. */
	if (p->holding) {
		p->holding = false;
		pthread_cond_signal(&p->moved);
	}
	while (p->made == p->used && !p->ended)
		pthread_cond_wait(&p->moved, &p->lock);
	if (p->made != p->used) {
		const struct batch *b = &p->batches[p->used++ % BATCHES];

		p->holding = true;
		*events = b->events;
		*n = b->n;
	} else {
		result = p->result;
		*err = p->err;
	}
	pthread_mutex_unlock(&p->lock);
	return result;
}

/* p->stop before: no thread was started (pipe_start). */
void pipe_stop(struct pipe *p)
{
	bool started = !p->stop;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->moved);
	pthread_mutex_unlock(&p->lock);
	if (started)
		pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->moved);
	pthread_mutex_destroy(&p->lock);
	free(p->batches);
	free(p);
}
