/* SPDX-License-Identifier: MIT */
/* The live stream: passes over the buffers, each one's records decoded and merged by time. A
 * record seen by a pass was written before it, so that passes follow each other in time but for
 * records a writer was stamping while the pass went by; a thread's own order always holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/clock.h"
#include "session/control.h"
#include "session/internal.h"
#include "collect/switches.h"
#include "trace/unpack.h"

#define WAIT_MS 20

struct keyed { uint64_t key; struct event event; };

struct live {
	struct source source;
	struct session *session;
	VEC(struct keyed) events;    /* of this pass, sorted */
	VEC(struct keyed) scratch;
	VEC(uint64_t) payloads;      /* of this pass; an event's `begin` says where its own stands */
	VEC(size_t) runs;            /* where each run begins; last: the end */
	VEC(uint64_t) newest;        /* by thread: the key it has reached */
	size_t next;
	bool finished;
};

static void keep_payload(struct live *l, struct event *e)
{
	const uint64_t *from = e->payload;

	e->begin = l->payloads.n;
	for (uint64_t i = 0; i < e->count / 8; i++)
		*vec_add(&l->payloads) = from[i];
}

static void add(struct live *l, const struct event *e)
{
	uint64_t *newest;

	while (l->newest.n <= e->thread)
		*vec_add(&l->newest) = 0;
	newest = &l->newest.at[e->thread];
	if (e->tsc > *newest)
		*newest = e->tsc;
	*vec_add(&l->events) = (struct keyed){ *newest, *e };
	if (e->kind == EVENT_TRACE)
		keep_payload(l, &l->events.at[l->events.n - 1].event);
}

static int take_run(void *context, const struct drain_run *run, struct err *err)
{
	struct live *l = context;
	int r = session_account(l->session, run, err);
	struct unpack unpack = { .at = run->words, .end = run->words + run->n, .tsc = run->near_tsc, .cpu = run->cpu };
	struct event e;

	if (r < 0)
		return r;
	unpack.thread = session_thread(l->session, run->slot);
	*vec_add(&l->runs) = l->events.n;
	if (run->lost)
		add(l, &(struct event){ .kind = EVENT_LOST, .count = run->lost, .tsc = run->near_tsc,
					.thread = unpack.thread, .cpu = run->cpu });
	while (unpack_next(&unpack, &e))
		add(l, &e);
	return 0;
}

/* Merges [a, b) and [b, c) of from into to; the first wins ties, so order is kept. */
static void merge(const struct keyed *from, struct keyed *to, size_t a, size_t b, size_t c)
{
	size_t i = a, j = b;

	for (size_t k = a; k < c; k++)
		to[k] = i < b && (j >= c || from[i].key <= from[j].key) ? from[i++] : from[j++];
}

/* Bottom-up merge of the sorted runs. */
static void sort_pass(struct live *l)
{
	vec_reserve(&l->scratch, l->events.n + 1);
	*vec_add(&l->runs) = l->events.n;
	while (l->runs.n > 2) {
		struct keyed *swap = l->scratch.at;
		size_t kept = 0, cap = l->scratch.cap;

		for (size_t i = 0; i + 1 < l->runs.n; i += 2) {
			size_t a = l->runs.at[i], b = l->runs.at[i + 1];
			size_t c = i + 2 < l->runs.n ? l->runs.at[i + 2] : b;

			merge(l->events.at, l->scratch.at, a, b, c);
			l->runs.at[kept++] = a;
		}
		l->runs.at[kept++] = l->events.n;
		l->runs.n = kept;
		l->scratch.at = l->events.at;
		l->scratch.cap = l->events.cap;
		l->events.at = swap;
		l->events.cap = cap;
	}
}

static void add_threadless(struct live *l, uint64_t lost)
{
	*vec_add(&l->runs) = l->events.n;
	add(l, &(struct event){ .kind = EVENT_LOST, .count = lost, .tsc = clock_tsc(),
				.thread = session_threadless(l->session, lost) });
}

static int pass(struct live *l, bool last, struct err *err)
{
	uint64_t lost = 0;
	int r;

	l->events.n = l->runs.n = l->next = l->payloads.n = 0;
	session_beat(l->session);
	if (last)
		r = session_finish(l->session, take_run, l, &lost, err);
	else
		r = session_pass(l->session, true, take_run, l, err);
	if (lost)
		add_threadless(l, lost);
	session_catch_up(l->session);
	sort_pass(l);
	return r;
}

static int live_next(struct source *source, struct event *out, struct err *err)
{
	struct live *l = (struct live *)source;
	bool overwrite = session_overwrites(l->session);
	int r;

	while (l->next >= l->events.n) {
		if (l->finished)
			return 0;
		memories_moment(&l->session->memories);
		l->finished = session_over(l->session);
		if (l->finished)
			session_leave(l->session);
		r = 0;
		if (overwrite && !l->finished) {
			session_recycle(l->session);
			switches_gather(control_switches(l->session->control));
		} else {
			r = pass(l, l->finished, err);
		}
		if (r < 0)
			return r;
		if (l->next >= l->events.n && !l->finished) {
			if (source->idle)
				source->idle(source->idle_context);
			memories_wait(&l->session->memories, WAIT_MS);
		}
	}
	*out = l->events.at[l->next++].event;
	if (out->kind == EVENT_TRACE)
		out->payload = l->payloads.at + out->begin;
	return 1;
}

static void live_close(struct source *source)
{
	struct live *l = (struct live *)source;

	vec_free(&l->events);
	vec_free(&l->scratch);
	vec_free(&l->runs);
	vec_free(&l->payloads);
	vec_free(&l->newest);
	free(l);
}

struct source *session_source(struct session *s)
{
	static const struct source_ops ops = { live_next, live_close };
	struct live *l = mem_zalloc(sizeof(*l));

	l->source.ops = &ops;
	l->source.info = s->info;
	l->session = s;
	return &l->source;
}
