/* SPDX-License-Identifier: MIT */
/* All threads' events by time. A heap holds the threads whose records overlap the present one:
 * a thread comes in when the merge reaches its first record, gives its decoded chunk back
 * while it sleeps until its next one, and goes after its last. So memory follows what went on
 * at one time, not the length of the file or the number of threads it ever had. And when so
 * many threads live at one time that their chunks would be too much, each holds only a window
 * of its chunk, which is decoded again for the next window: slower, but never bigger. */
#include <string.h>

#include "base/heap.h"
#include "shared/record.h"
#include "store/reader.h"

#define SPARE_MAX 64
#define BUDGET (8u << 20) /* words decoded and waiting: 64 MiB */
#define WINDOW_LEAST 512u /* words; beyond the budget, for the sake of speed */

struct lane {
	struct track track;
	uint64_t *words;    /* what the track unpacks now */
	size_t room;
	size_t done;        /* words of the chunk in earlier windows and this one; 0: all */
	uint64_t key;       /* never falls: a thread's events keep their order whatever their stamps */
	bool ready;         /* event is the next one; else a chunk must be loaded first */
	struct event event;
};

/* When a thread comes in, or goes. */
struct moment {
	uint64_t tsc;
	uint32_t thread;
};

struct spare { uint64_t *words; size_t room; };

struct merge {
	struct source source;
	struct store_reader *reader;
	struct loader loader;
	VEC(struct lane *) heap;
	VEC(struct moment) starts;
	size_t started;
	VEC(struct spare) spare;
	size_t window;      /* words that a lane may hold */
	struct err failed;
	uint64_t payload[RECORD_PAYLOAD_MAX]; /* of the event given out last */
};

static bool before(uint64_t key_a, uint32_t thread_a, uint64_t key_b, uint32_t thread_b)
{
	return key_a != key_b ? key_a < key_b : thread_a < thread_b;
}

static bool lane_before(const struct lane *a, const struct lane *b)
{
	return before(a->key, a->track.thread, b->key, b->track.thread);
}

/* Room for n words in a lane that has none. */
static void take_room(struct merge *m, struct lane *lane, size_t n)
{
	struct spare s = {0};

	if (m->spare.n)
		s = m->spare.at[--m->spare.n];
	if (s.room < n) {
		free(s.words);
		s = (struct spare){ mem_realloc(NULL, n, sizeof(*s.words)), n };
	}
	lane->words = s.words;
	lane->room = s.room;
}

static void give_room_back(struct merge *m, struct lane *lane)
{
	if (m->spare.n < SPARE_MAX && lane->words)
		*vec_add(&m->spare) = (struct spare){ lane->words, lane->room };
	else
		free(lane->words);
	lane->words = NULL;
	lane->room = 0;
}

static void come_in(struct merge *m)
{
	struct moment *s = &m->starts.at[m->started++];
	struct lane *lane = mem_zalloc(sizeof(*lane));

	track_begin(m->reader, s->thread, &lane->track);
	lane->key = s->tsc;
	heap_push(&m->heap, lane, lane_before);
}

static bool start_is_next(const struct merge *m)
{
	const struct moment *s;

	if (m->started == m->starts.n)
		return false;
	s = &m->starts.at[m->started];
	return !m->heap.n ||
	       before(s->tsc, s->thread, m->heap.at[0]->key, m->heap.at[0]->track.thread);
}

static void leave(struct merge *m)
{
	struct lane *lane = m->heap.at[0];

	give_room_back(m, lane);
	free(lane);
	heap_pop(&m->heap, lane_before);
}

static void raise_key(struct lane *lane, uint64_t tsc)
{
	if (tsc > lane->key)
		lane->key = tsc;
}

/* The first lane goes on to its next event, or to waiting for its next chunk, or away. */
static void advance(struct merge *m)
{
	struct lane *lane = m->heap.at[0];

	lane->ready = unpack_next(&lane->track.unpack, &lane->event);
	if (lane->ready) {
		raise_key(lane, lane->event.tsc);
	} else if (lane->track.next < lane->track.end) {
		if (!lane->done)
			raise_key(lane, track_next_tsc(m->reader, &lane->track));
		give_room_back(m, lane);
	} else {
		leave(m);
		return;
	}
	heap_settle(&m->heap, lane_before);
}

/* Words at the beginning of [at, end) that a lane takes: whole records. */
static size_t window_words(const struct merge *m, const uint64_t *at, const uint64_t *end)
{
	size_t all = (size_t)(end - at), n = 0;

	if (all <= m->window)
		return all;
	while (n < m->window)
		n += 1 + record_payload(at[n]);
	return n;
}

/* The lane takes the next window of the chunk that was decoded for it, and has seen `before`. */
static void take_window(struct merge *m, struct lane *lane, const struct unpack *before)
{
	struct unpack *u = &lane->track.unpack;
	size_t n;

	if (lane->done) {
		u->at += lane->done;
		u->tsc = before->tsc;
		u->cpu = before->cpu;
	}
	n = window_words(m, u->at, u->end);
	lane->done = u->at + n < u->end ? lane->done + n : 0;
	if (lane->done)
		lane->track.next--; /* once more */
	take_room(m, lane, n);
	memcpy(lane->words, u->at, n * sizeof(*lane->words));
	u->at = lane->words;
	u->end = lane->words + n;
}

/* The first lane's next words are due. */
static void wake(struct merge *m)
{
	struct lane *lane = m->heap.at[0];
	struct unpack before_it = lane->track.unpack;

	if (track_load(m->reader, &lane->track, &m->loader, &m->failed) > 0) {
		take_window(m, lane, &before_it);
		advance(m);
	}
}

/* What the event points to may be gone when its lane goes on. */
static void give_out(struct merge *m, struct event *out)
{
	*out = m->heap.at[0]->event;
	if (out->kind != EVENT_TRACE)
		return;
	memcpy(m->payload, out->payload, out->count);
	out->payload = m->payload;
}

static int next(struct source *s, struct event *out, struct err *err)
{
	struct merge *m = (struct merge *)s;

	while (!m->failed.code) {
		if (start_is_next(m)) {
			come_in(m);
		} else if (!m->heap.n) {
			return 0;
		} else if (m->heap.at[0]->ready) {
			give_out(m, out);
			advance(m);
			return 1;
		} else {
			wake(m);
		}
	}
	if (err)
		*err = m->failed;
	return -m->failed.code;
}

static void close_merge(struct source *s)
{
	struct merge *m = (struct merge *)s;

	for (size_t i = 0; i < m->heap.n; i++) {
		free(m->heap.at[i]->words);
		free(m->heap.at[i]);
	}
	for (size_t i = 0; i < m->spare.n; i++)
		free(m->spare.at[i].words);
	vec_free(&m->heap);
	vec_free(&m->starts);
	vec_free(&m->spare);
	loader_free(&m->loader);
	free(m);
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return before(x->tsc, x->thread, y->tsc, y->thread) ? -1 : 1;
}

static void sort_moments(struct moment *at, size_t n)
{
	if (n)
		qsort(at, n, sizeof(*at), by_time);
}

/* The most threads there are at one time. Both lists are sorted. */
static size_t most_at_once(const struct moment *starts, const struct moment *ends, size_t n)
{
	size_t most = 1;

	for (size_t in = 0, out = 0; in < n; in++) {
		while (out < n && ends[out].tsc < starts[in].tsc)
			out++;
		if (in + 1 - out > most)
			most = in + 1 - out;
	}
	return most;
}

static void plan(struct merge *m)
{
	VEC(struct moment) ends = {0};

	for (uint32_t t = 0; t < m->reader->info->threads.n; t++) {
		struct track track;

		if (!track_begin(m->reader, t, &track))
			continue;
		*vec_add(&m->starts) = (struct moment){ track_next_tsc(m->reader, &track), t };
		*vec_add(&ends) = (struct moment){ track_last_tsc(m->reader, &track), t };
	}
	sort_moments(m->starts.at, m->starts.n);
	sort_moments(ends.at, ends.n);
	m->window = BUDGET / most_at_once(m->starts.at, ends.at, ends.n);
	if (m->window < WINDOW_LEAST)
		m->window = WINDOW_LEAST;
	vec_free(&ends);
}

struct source *store_source(struct store_reader *r)
{
	static const struct source_ops ops = { next, close_merge };
	struct merge *m = mem_zalloc(sizeof(*m));

	m->source.ops = &ops;
	m->source.info = r->info;
	m->reader = r;
	plan(m);
	return &m->source;
}
