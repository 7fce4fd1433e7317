#include "live/merge.h"

#include <stdlib.h>

#include "base/mem.h"
#include "source/unpack.h"

/* A thread's chunks, one after the other. */
struct lane {
	uint32_t thread;
	VEC(struct kept) chunks; /* borrowed */
	size_t next;          /* chunk to unpack when this one is through */
	struct unpack unpack;
	const struct kept *kept; /* this chunk */
	uint64_t key;
	struct event event;   /* the next one */
};

struct merge {
	struct source source;
	chunk_list chunks;
	struct merge_filter filter;
	size_t span;          /* in filter.off: the first that ends after the events seen last */
	VEC(struct lane *) lanes; /* by thread; NULL: it has no chunk */
	VEC(struct lane *) heap;
};

static bool before(const struct lane *a, const struct lane *b)
{
	return a->key != b->key ? a->key < b->key : a->thread < b->thread;
}

static void sift_down(struct merge *m, size_t i)
{
	struct lane **h = m->heap.at, *lane = h[i];

	for (size_t child; (child = 2 * i + 1) < m->heap.n; i = child) {
		if (child + 1 < m->heap.n && before(h[child + 1], h[child]))
			child++;
		if (!before(h[child], lane))
			break;
		h[i] = h[child];
	}
	h[i] = lane;
}

/* The next chunk; what was lost before it is an event of its own. */
static bool open_chunk(struct lane *l)
{
	const struct chunk *c = l->chunks.at[l->next].chunk;

	l->kept = &l->chunks.at[l->next++];
	l->unpack = (struct unpack){ .at = c->words, .end = c->words + c->n, .tsc = c->near_tsc, .cpu = c->cpu,
				     .thread = l->thread };
	l->event = (struct event){ .kind = EVENT_LOST, .count = c->lost, .tsc = c->near_tsc, .thread = l->thread,
				   .cpu = c->cpu };
	return c->lost > 0;
}

static bool advance(struct lane *l)
{
	while (!unpack_next(&l->unpack, &l->event)) {
		if (l->next == l->chunks.n)
			return false;
		if (open_chunk(l))
			break;
	}
	if (l->event.tsc > l->key)
		l->key = l->event.tsc;
	return true;
}

/* Events come by time, but for those of a thread that were stamped late: these belong to what was before. */
static bool is_off(struct merge *m, uint64_t tsc)
{
	while (m->span < m->filter.off.n && m->filter.off.at[m->span].to <= tsc)
		m->span++;
	return m->span < m->filter.off.n && m->filter.off.at[m->span].from <= tsc;
}

static bool is_kept(const struct merge *m, const struct lane *l)
{
	if (l->event.kind == EVENT_LOST)
		return true;
	if (l->event.kind != EVENT_TRACE)
		return l->kept->what & KEEP_FUNCTIONS;
	return l->kept->what & KEEP_EVENTS &&
	       (!l->kept->events ||
		selection_keeps(l->kept->events, &l->event, &m->source.info->threads.at[l->thread]));
}

static int next(struct source *s, struct event *out, struct err *err)
{
	struct merge *m = (struct merge *)s;

	while (m->heap.n) {
		struct lane *l = m->heap.at[0];
		bool wanted = !is_off(m, l->key) && is_kept(m, l) && (!m->filter.one_cpu || l->event.cpu == m->filter.cpu);

		*out = l->event;
		if (!advance(l))
			m->heap.at[0] = m->heap.at[--m->heap.n];
		if (m->heap.n)
			sift_down(m, 0);
		if (wanted)
			return 1;
	}
	return 0;
}

static void close_merge(struct source *s)
{
	struct merge *m = (struct merge *)s;

	for (size_t i = 0; i < m->lanes.n; i++)
		if (m->lanes.at[i]) {
			vec_free(&m->lanes.at[i]->chunks);
			free(m->lanes.at[i]);
		}
	vec_free(&m->lanes);
	vec_free(&m->heap);
	vec_free(&m->filter.off);
	chunk_list_free(&m->chunks);
	free(m);
}

static struct lane *lane_of(struct merge *m, uint32_t thread)
{
	while (m->lanes.n <= thread)
		*vec_add(&m->lanes) = NULL;
	if (!m->lanes.at[thread]) {
		m->lanes.at[thread] = mem_zalloc(sizeof(struct lane));
		m->lanes.at[thread]->thread = thread;
	}
	return m->lanes.at[thread];
}

struct source *merge_chunks(struct trace_info *info, chunk_list *chunks, const struct merge_filter *filter)
{
	static const struct source_ops ops = { next, close_merge };
	struct merge *m = mem_zalloc(sizeof(*m));

	m->source = (struct source){ .ops = &ops, .info = info };
	m->chunks = *chunks;
	*chunks = (chunk_list){ 0 };
	m->filter.one_cpu = filter->one_cpu;
	m->filter.cpu = filter->cpu;
	for (size_t i = 0; i < filter->off.n; i++)
		*vec_add(&m->filter.off) = filter->off.at[i];
	for (size_t i = 0; i < m->chunks.n; i++)
		if (m->chunks.at[i].chunk->settled)
			*vec_add(&lane_of(m, m->chunks.at[i].chunk->thread)->chunks) = m->chunks.at[i];
	for (size_t i = 0; i < m->lanes.n; i++)
		if (m->lanes.at[i] && advance(m->lanes.at[i]))
			*vec_add(&m->heap) = m->lanes.at[i];
	for (size_t i = m->heap.n / 2; i-- > 0;)
		sift_down(m, i);
	return &m->source;
}
