/* SPDX-License-Identifier: MIT */
/* Writes a buffer's records into a trace file (instances_extract). Called under pump_lock; the ring
 * is copied by reference, so recording goes on. What `trace` would not show (off periods, cleared
 * CPUs, events of other instances) is left out word by word, since the file has no filters of its
 * own. A failure to write discards the file. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instance/buffer_internal.h"
#include "shared/record.h"
#include "store/store.h"

struct extract {
	struct store_writer *store;
	const struct trace_info *info;
	off_periods off;
	discard_times gone;
	VEC(uint64_t) words;       /* words of a chunk that `trace` shows */
	struct trace_total *total;
	struct trace_thread *threads; /* info's: what the file has of each */
};

/* A record of the chunk and the thread's state there. */
struct extract_position {
	const uint64_t *word;
	/* time: the thread's latest time so far, if the record's own stamp is older */
	uint64_t tsc, time;
	uint16_t cpu;
};

/* Whether the word is an event's record with payload (EVENT_TRACE). */
static bool is_trace(uint64_t word)
{
	return record_kind(word) == RECORD_EVENT && record_type(word) >= RECORD_EVENT_TRACE;
}

/* Events that the chunk has for other instances, or that the filter leaves out, stay out of the
 * file. */
static bool is_selected(const struct extract *x, const struct chunk_ref *k,
			const struct extract_position *p)
{
	const struct event e = { .tsc = p->tsc,
				 .thread = k->chunk->thread,
				 .kind = EVENT_TRACE,
				 .cpu = p->cpu,
				 .payload = p->word + 1,
				 .fn = record_type(*p->word) - RECORD_EVENT_TRACE,
				 .count = 8 * record_payload(*p->word) };

	return !k->events || selection_keeps(k->events, &e, x->info);
}

/* Decides like the merged stream (merge.c), but on words. RECORD_EVENT_CPU records stay always:
 * functions and events after them need to know the CPU. */
static bool is_chunk_kept(const struct extract *x, const struct chunk_ref *k,
			  const struct extract_position *p)
{
	if (is_trace(*p->word)) {
		if (!(k->what & CHUNK_EVENTS) || !is_selected(x, k, p))
			return false;
	} else if (record_kind(*p->word) == RECORD_EVENT &&
		   record_type(*p->word) == RECORD_EVENT_CPU) {
		return true;
	} else if (!(k->what & (record_is_sleep(*p->word) ? CHUNK_SLEEPS : CHUNK_FUNCTIONS))) {
		return false;
	}
	return !record_counts(*p->word) ||
	       (!off_at(&x->off, p->time) && p->time >= off_discarded_before(&x->gone, p->cpu));
}

/* Appends the record's words and counts it for the file's totals. Calls are counted by
 * store_count(). */
static void take_words(struct extract *x, const struct extract_position *p, size_t words)
{
	vec_reserve(&x->words, x->words.n + words);
	memcpy(x->words.at + x->words.n, p->word, words * sizeof(*p->word));
	x->words.n += words;
	x->total->records += record_counts(*p->word);
}

/* Collects the chunk's wanted records into x->words. A record whose payload exceeds the chunk ends
 * it: the program may have overwritten its memory. */
static void cut_chunk(struct extract *x, const struct chunk_ref *k)
{
	const struct chunk *c = k->chunk;
	struct extract_position p = { .tsc = c->near_tsc, .cpu = c->cpu };
	size_t words;

	x->words.n = 0;
	for (size_t i = 0; i < c->n; i += words) {
		p.word = &c->words[i];
		words = 1 + record_payload(*p.word);
		if (i + words > c->n)
			return;
		p.tsc = record_tsc(*p.word, p.tsc);
		p.time = p.tsc > p.time ? p.tsc : p.time;
		if (record_kind(*p.word) == RECORD_EVENT &&
		    record_type(*p.word) == RECORD_EVENT_CPU && words > 1)
			p.cpu = (uint16_t)p.word[1];
		if (is_chunk_kept(x, k, &p))
			take_words(x, &p, words);
	}
}

static int store_chunk(struct extract *x, const struct chunk_ref *k, struct err *err)
{
	const struct chunk *c = k->chunk;

	uint64_t before = x->total->records;

	cut_chunk(x, k);
	x->threads[c->thread].records += x->total->records - before;
	x->threads[c->thread].lost += c->lost;
	x->total->lost += c->lost;
	return store_records(x->store, c->thread, c->near_tsc, c->cpu, c->lost, x->words.at,
			     x->words.n, err);
}

/* Chunks whose thread is not known yet are not written: their records have no place in the file. */
static int store_chunks(struct extract *x, const chunk_list *chunks, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < chunks->n && r == 0; i++)
		if (chunks->at[i].chunk->resolved)
			r = store_chunk(x, &chunks->at[i], err);
	return r;
}

/* The counts of threads are the file's while it is written; the session's are put back then. */
static struct trace_total *begin_counts(struct trace_info *info)
{
	struct trace_total *before = mem_zalloc((info->threads.n + 1) * sizeof(*before));

	before[info->threads.n] = info->total;
	info->total = (struct trace_total){ 0 };
	for (size_t i = 0; i < info->threads.n; i++) {
		struct trace_thread *t = &info->threads.at[i];

		before[i] = (struct trace_total){ .records = t->records, .lost = t->lost };
		t->records = t->lost = 0;
	}
	return before;
}

/* The trace_info is the session's: its counts are put back as they were. */
static void end_counts(struct trace_info *info, struct trace_total *before)
{
	info->total = before[info->threads.n];
	for (size_t i = 0; i < info->threads.n; i++) {
		info->threads.at[i].records = before[i].records;
		info->threads.at[i].lost = before[i].lost;
	}
	free(before);
}

/* Writes what the buffer has into a trace file; the buffer keeps it. Needs pump_lock, as all that
 * takes a trace_info. */
int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err)
{
	struct trace_total *before;
	const bool exclude_sleep = info->exclude_sleep;
	struct extract x = { .info = info, .total = &info->total, .threads = info->threads.at };
	chunk_list chunks = { 0 };
	int r;

	/* The file has to say what this instance's tracer was, not what the session records in
	 * union with others. */
	pthread_mutex_lock(&b->lock);
	buffer_name_tracer(info, &b->settings);
	info->exclude_sleep =
		b->settings.tracer->exits && settings_exclude_sleep(&b->settings);
	pthread_mutex_unlock(&b->lock);
	before = begin_counts(info);
	r = store_create(path, info, &x.store, err);
	if (r < 0) {
		info->exclude_sleep = exclude_sleep;
		end_counts(info, before);
		return r;
	}
	pthread_mutex_lock(&b->lock);
	off_periods_copy(&x.off, &b->off);
	off_discards_copy(&x.gone, &b->gone);
	pthread_mutex_unlock(&b->lock);
	ring_copy(&b->ring, &chunks);
	r = store_chunks(&x, &chunks, err);
	if (r == 0)
		r = store_count(x.store, info, err);
	if (r < 0)
		store_discard(x.store);
	else
		r = store_finish(x.store, err);
	end_counts(info, before);
	info->exclude_sleep = exclude_sleep;
	chunk_list_free(&chunks);
	vec_free(&x.off);
	vec_free(&x.gone);
	vec_free(&x.words);
	return r;
}
