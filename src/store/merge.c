/* All threads' events by time. A heap holds the threads whose records overlap the present one:
 * a thread comes in when the merge reaches its first record, gives its decoded chunk back
 * while it sleeps until its next one, and goes after its last. So memory follows what was going
 * on at one time, not the length of the file or the number of threads it ever had. */
#include "store/reader.h"

#define SPARE_MAX 64

struct lane {
	struct track track;
	uint64_t key;       /* never falls: a thread's events keep their order whatever their stamps */
	bool ready;         /* event is the next one; else a chunk must be loaded first */
	struct event event;
};

/* A thread that has not come in yet. */
struct start {
	uint64_t tsc;
	uint32_t thread;
};

struct spare { uint64_t *words; size_t room; };

struct merge {
	struct source source;
	struct store_reader *reader;
	struct loader loader;
	VEC(struct lane *) heap;
	VEC(struct start) starts;
	size_t started;
	VEC(struct spare) spare;
	struct err failed;
};

static bool before(uint64_t key_a, uint32_t thread_a, uint64_t key_b, uint32_t thread_b)
{
	return key_a != key_b ? key_a < key_b : thread_a < thread_b;
}

static bool lane_before(const struct lane *a, const struct lane *b)
{
	return before(a->key, a->track.thread, b->key, b->track.thread);
}

static void sift_down(struct merge *m, size_t i)
{
	struct lane **h = m->heap.at, *lane = h[i];

	for (size_t child; (child = 2 * i + 1) < m->heap.n; i = child) {
		if (child + 1 < m->heap.n && lane_before(h[child + 1], h[child]))
			child++;
		if (!lane_before(h[child], lane))
			break;
		h[i] = h[child];
	}
	h[i] = lane;
}

static void sift_up(struct merge *m, size_t i)
{
	struct lane **h = m->heap.at, *lane = h[i];

	for (; i && lane_before(lane, h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = lane;
}

static void lend_room(struct merge *m, struct track *t)
{
	if (!t->words && m->spare.n) {
		struct spare s = m->spare.at[--m->spare.n];

		t->words = s.words;
		t->room = s.room;
	}
}

static void take_room(struct merge *m, struct track *t)
{
	if (m->spare.n < SPARE_MAX && t->words)
		*vec_add(&m->spare) = (struct spare){ t->words, t->room };
	else
		free(t->words);
	t->words = NULL;
	t->room = 0;
}

static void come_in(struct merge *m)
{
	struct start *s = &m->starts.at[m->started++];
	struct lane *lane = mem_zalloc(sizeof(*lane));

	track_begin(m->reader, s->thread, &lane->track);
	lane->key = s->tsc;
	*vec_add(&m->heap) = lane;
	sift_up(m, m->heap.n - 1);
}

static bool start_is_next(const struct merge *m)
{
	const struct start *s;

	if (m->started == m->starts.n)
		return false;
	s = &m->starts.at[m->started];
	return !m->heap.n ||
	       before(s->tsc, s->thread, m->heap.at[0]->key, m->heap.at[0]->track.thread);
}

static void leave(struct merge *m)
{
	struct lane *lane = m->heap.at[0];

	take_room(m, &lane->track);
	free(lane);
	m->heap.at[0] = m->heap.at[--m->heap.n];
	if (m->heap.n)
		sift_down(m, 0);
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
		raise_key(lane, track_next_tsc(m->reader, &lane->track));
		take_room(m, &lane->track);
	} else {
		leave(m);
		return;
	}
	sift_down(m, 0);
}

/* The first lane's next chunk is due. */
static void wake(struct merge *m)
{
	struct track *t = &m->heap.at[0]->track;

	lend_room(m, t);
	if (track_load(m->reader, t, &m->loader, &m->failed) > 0)
		advance(m);
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
			*out = m->heap.at[0]->event;
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
		free(m->heap.at[i]->track.words);
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

static int by_start(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return before(x->tsc, x->thread, y->tsc, y->thread) ? -1 : 1;
}

struct source *store_source(struct store_reader *r)
{
	static const struct source_ops ops = { next, close_merge };
	struct merge *m = mem_zalloc(sizeof(*m));

	m->source.ops = &ops;
	m->source.info = r->info;
	m->reader = r;
	for (uint32_t t = 0; t < r->info->threads.n; t++) {
		struct track track;

		if (track_begin(r, t, &track))
			*vec_add(&m->starts) = (struct start){ track_next_tsc(r, &track), t };
	}
	if (m->starts.n)
		qsort(m->starts.at, m->starts.n, sizeof(*m->starts.at), by_start);
	return &m->source;
}
