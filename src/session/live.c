/* SPDX-License-Identifier: MIT */
/* The live stream, for commands that want events, not lines (ui/stream_run.h): passes over the
 * buffers; each pass' records are decoded and merged by time. A record that a pass sees was written
 * before the pass, so passes follow each other in time, except for records that a writer was
 * stamping as the pass went by. A thread's own order always holds. Times of a TSC that is not
 * steady are put right here, as records are decoded. Called on the session's only thread; an error
 * of a pass ends the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/clock.h"
#include "session/internal.h"
#include "trace/unpack.h"

#define WAIT_MS 20

/* An event and its place in time, which is its thread's greatest time so far. */
struct keyed { uint64_t key; struct event event; };
typedef VEC(uint64_t) payload_words;

struct live {
	struct source source;
	struct session *session;
	VEC(struct keyed) events;    /* of this pass, sorted */
	VEC(struct keyed) scratch;
	/* Beside another source, or where the reader wants it (source.ordered): events later than
	 * the beginning of their pass, which wait for what others have of the same time. Payloads
	 * as in `payloads`. */
	VEC(struct keyed) held;
	payload_words held_payloads;
	/* Payloads of the present pass; an event's `begin` is its payload's index here. */
	payload_words payloads;
	VEC(size_t) runs;            /* where each run begins; last: the end */
	VEC(uint64_t) newest;        /* by thread: the greatest key so far */
	VEC(struct call_arguments *) arguments; /* by thread, of its next call; NULL: none */
	size_t next;
	bool finished;
};

static bool has_payload(const struct event *e)
{
	return event_payload_words(e);
}

/* Where the thread's arguments wait for their call, from one pass to the next. */
static struct call_arguments **arguments_of_thread(struct live *l, uint32_t thread)
{
	while (l->arguments.n <= thread)
		*vec_add(&l->arguments) = NULL;
	return &l->arguments.at[thread];
}

/* Copies the payload `from`: the run's words are gone when the event is given out. */
static void keep_payload(payload_words *to, struct event *e, const uint64_t *from)
{
	e->begin = to->n;
	for (uint64_t i = 0; i < event_payload_words(e); i++)
		*vec_add(to) = from[i];
}

/* Adds an event under its thread's key, with a copy of its payload. Its time is right already. */
static void add_placed(struct live *l, const struct event *e)
{
	uint64_t *newest;

	while (l->newest.n <= e->thread)
		*vec_add(&l->newest) = 0;
	newest = &l->newest.at[e->thread];
	/* Keys never go back within a thread, so sorting by key keeps its order. */
	if (e->tsc > *newest)
		*newest = e->tsc;
	*vec_add(&l->events) = (struct keyed){ *newest, *e };
	/* By however little the lines of two processors disagree. */
	if (l->session->clock.live)
		l->events.at[l->events.n - 1].event.tsc = *newest;
	if (has_payload(e))
		keep_payload(&l->payloads, &l->events.at[l->events.n - 1].event, e->payload);
}

/* Adds an event whose time is the counter's. */
static void add_event(struct live *l, struct event *e)
{
	clock_place(&l->session->clock, e);
	add_placed(l, e);
}

/* drain_sink: decodes a run, behind the loss before it. */
static int decode_run(void *context, const struct drain_run *run, struct err *err)
{
	struct live *l = context;
	int r = session_account(l->session, run, err);
	struct unpack unpack = {
		.at = run->words, .end = run->words + run->n, .tsc = run->near_tsc, .cpu = run->cpu
	};
	struct event e;

	if (r < 0)
		return r;
	unpack.thread = session_thread(l->session, run->slot);
	unpack.arguments = arguments_of_thread(l, unpack.thread);
	if (run->lost && *unpack.arguments)
		(*unpack.arguments)->n = 0;
	*vec_add(&l->runs) = l->events.n;
	if (run->lost)
		add_event(l, &(struct event){ .kind = EVENT_LOST,
					      .count = run->lost,
					      .tsc = run->near_tsc,
					      .thread = unpack.thread,
					      .cpu = run->cpu });
	while (unpack_next(&unpack, &e))
		add_event(l, &e);
	return 0;
}

/* drain_sink */
static int take_run(void *context, const struct drain_run *run, struct err *err)
{
	struct live *l = context;

	return session_take_run(l->session, run, decode_run, l, err);
}

/* Merges [a, b) and [b, c) of `from` into `to`; the first part wins ties, so order is kept. */
static void merge_keyed(const struct keyed *from, struct keyed *to, size_t a, size_t b, size_t c)
{
	size_t i = a, j = b;

	for (size_t k = a; k < c; k++)
		to[k] = i < b && (j >= c || from[i].key <= from[j].key) ? from[i++] : from[j++];
}

/* Merges the sorted runs bottom-up. */
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

			merge_keyed(l->events.at, l->scratch.at, a, b, c);
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

/* Losses of threads without a slot come as a run of one event. */
static void add_threadless(struct live *l, uint64_t lost)
{
	*vec_add(&l->runs) = l->events.n;
	add_placed(l, &(struct event){ .kind = EVENT_LOST, .count = lost,
				       .tsc = clock_present(&l->session->clock),
				       .thread = session_threadless(l->session, lost) });
}

/* The events that were held back are the first run of this pass. */
static void add_held(struct live *l)
{
	if (l->held.n)
		*vec_add(&l->runs) = 0;
	for (size_t i = 0; i < l->held.n; i++) {
		struct keyed *k = vec_add(&l->events);

		*k = l->held.at[i];
		if (has_payload(&k->event))
			keep_payload(&l->payloads, &k->event,
				     l->held_payloads.at + k->event.begin);
	}
	l->held.n = l->held_payloads.n = 0;
}

/* Takes events later than `begun` out of the sorted pass. The sources were read one after the
 * other, so that one that was read first may still have records of before them. */
static void hold_later(struct live *l, uint64_t begun)
{
	size_t kept = vec_bisect(&l->events, e, e->key <= begun);

	for (size_t i = kept; i < l->events.n; i++) {
		struct keyed *k = vec_add(&l->held);

		*k = l->events.at[i];
		if (has_payload(&k->event))
			keep_payload(&l->held_payloads, &k->event,
				     l->payloads.at + k->event.begin);
	}
	l->events.n = kept;
}

/* Takes the records of one pass into l->events, sorted by key. last: takes everything. */
static int pass_records(struct live *l, bool last, struct err *err)
{
	const uint64_t begun = clock_present(&l->session->clock);
	uint64_t lost = 0;
	int r;

	l->events.n = l->runs.n = l->next = l->payloads.n = 0;
	add_held(l);
	session_heartbeat(l->session);
	r = session_pass(l->session, last ? PASS_LAST : PASS_PARTIAL, take_run, l, &lost, err);
	if (r >= 0 && last)
		r = session_take_rest(l->session, decode_run, l, err);
	if (lost)
		add_threadless(l, lost);
	if (last)
		thread_names_all(l->session);
	session_catch_up(l->session);
	sort_pass(l);
	if ((l->session->has_beside || l->source.ordered) && !last)
		hold_later(l, begun);
	return r;
}

/* Gives the pass' events one by one; then makes the next pass, or waits for something to read. */
static int live_next(struct source *source, struct event *out, struct err *err)
{
	struct live *l = (struct live *)source;
	bool overwrite = session_overwrites(l->session);
	int r;

	while (l->next >= l->events.n) {
		if (l->finished)
			return 0;
		/* Before the look whether all is over, so that its end wakes memories_wait(). */
		memories_read_wakeups(&l->session->memories);
		l->finished = session_over(l->session);
		if (l->finished)
			session_detach(l->session);
		/* In overwrite mode nothing is shown before the end. */
		r = overwrite && !l->finished
			    ? session_pass(l->session, PASS_KEEP, NULL, NULL, NULL, err)
			    : pass_records(l, l->finished, err);
		if (r < 0)
			return r;
		if (l->next >= l->events.n && !l->finished) {
			if (source->idle)
				source->idle(source->idle_context);
			memories_wait(&l->session->memories, WAIT_MS);
		}
	}
	*out = l->events.at[l->next++].event;
	if (has_payload(out))
		/* Only now: the vec may have moved while it grew. */
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
	vec_free(&l->held);
	vec_free(&l->held_payloads);
	vec_free(&l->newest);
	for (size_t i = 0; i < l->arguments.n; i++)
		free(l->arguments.at[i]);
	vec_free(&l->arguments);
	free(l);
}

/* The stream of the session's own records, merged by time as far as a stream can be. One reader;
 * close() leaves the session as it is. */
struct source *session_source(struct session *s)
{
	static const struct source_ops ops = { live_next, live_close };
	struct live *l = mem_zalloc(sizeof(*l));

	l->source.ops = &ops;
	l->source.info = s->info;
	l->session = s;
	s->clock.printed = true;
	/* The program's image, by which a reader sees that the kernel is not alone. */
	if (s->first_image)
		session_catch_up(s);
	return &l->source;
}
