/* The buffer as a trace file. */
#include <string.h>

#include "live/buffer_internal.h"
#include "shared/record.h"
#include "source/unpack.h"
#include "store/store.h"

struct extract {
	struct store_writer *store;
	const struct trace_info *info;
	off_list off;
	VEC(uint64_t) words;       /* of a chunk, without those that were made while recording was off */
	struct trace_total *total;
};

/* As in merge.c: other instances' events and functions may stand between the instance's. */
static bool is_ours(const struct extract *x, const struct kept *k, const uint64_t *word, uint64_t tsc)
{
	struct unpack u = { .at = word, .end = word + 1 + record_payload(*word), .tsc = tsc, .thread = k->chunk->thread,
			    .cpu = k->chunk->cpu };
	struct event e;

	if (!unpack_next(&u, &e))
		return true; /* a change of CPU */
	if (e.kind != EVENT_TRACE)
		return k->what & KEEP_FUNCTIONS;
	return k->what & KEEP_EVENTS && (!k->events || selection_keeps(k->events, &e, &x->info->threads.at[e.thread]));
}

static void cut(struct extract *x, const struct kept *k)
{
	const struct chunk *c = k->chunk;
	uint64_t tsc = c->near_tsc;
	size_t words;

	x->words.n = 0;
	vec_reserve(&x->words, c->n + 1);
	for (size_t i = 0; i < c->n; i += words) {
		words = 1 + record_payload(c->words[i]);
		tsc = record_tsc(c->words[i], tsc);
		if (i + words > c->n)
			return;
		if ((record_counts(c->words[i]) && off_at(&x->off, tsc)) || !is_ours(x, k, c->words + i, tsc))
			continue;
		memcpy(x->words.at + x->words.n, c->words + i, words * sizeof(c->words[0]));
		x->words.n += words;
		x->total->records += record_counts(c->words[i]);
		x->total->calls += record_is_call(c->words[i]);
	}
}

static int store_chunk(struct extract *x, const struct kept *k, struct err *err)
{
	const struct chunk *c = k->chunk;

	cut(x, k);
	x->total->lost += c->lost;
	return store_records(x->store, c->thread, c->near_tsc, c->cpu, c->lost, x->words.at, x->words.n, err);
}

static int store_chunks(struct extract *x, const chunk_list *chunks, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < chunks->n && r == 0; i++)
		if (chunks->at[i].chunk->settled)
			r = store_chunk(x, &chunks->at[i], err);
	return r;
}

int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err)
{
	const struct trace_total before = info->total;
	struct extract x = { .info = info, .total = &info->total };
	chunk_list chunks = { 0 };
	int r;

	pthread_mutex_lock(&b->lock);
	buffer_name_tracer(info, &b->settings);
	pthread_mutex_unlock(&b->lock);
	r = store_create(path, info, &x.store, err);
	if (r < 0)
		return r;
	buffer_off(b, &x.off);
	ring_copy(&b->ring, &chunks);
	info->total = (struct trace_total){ 0 };
	r = store_chunks(&x, &chunks, err);
	if (r < 0)
		store_discard(x.store);
	else
		r = store_finish(x.store, err);
	info->total = before;
	chunk_list_free(&chunks);
	vec_free(&x.off);
	vec_free(&x.words);
	return r;
}
