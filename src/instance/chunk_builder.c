/* SPDX-License-Identifier: MIT */
/* Collects single records into chunks, one lane a thread, and moves the chunks into the ring.
 * triggers.c uses it where some of a chunk's records are dropped or others are added. Records are
 * appended to the thread's open chunk while they come from the same source chunk and CPU; anything
 * else closes it. Nothing fails. */
#include "instance/chunk_builder.h"

#include <string.h>

#include "base/mem.h"
#include "shared/record.h"

/* A chunk's first word has only the low 40 bits of its TSC, so that no record may be farther than
 * this from the one before. */
#define FAR (UINT64_C(1) << 38)

/* Finishes the lane's chunk. Its events were filtered already, so that the selection is dropped: no
 * reader is to filter them again. */
static void close_lane(struct chunk_builder *c, struct chunk_builder_lane *l, uint32_t thread)
{
	const struct drain_run run = { .slot = thread,
				       .cpu = l->cpu,
				       .near_tsc = l->near_tsc,
				       .lost = l->lost,
				       .words = l->words.at,
				       .n = l->words.n,
				       .calls = l->calls,
				       .records = l->records };
	struct chunk_ref k = l->like;

	if (!k.chunk)
		return;
	selection_put(k.events);
	chunk_put(k.chunk);
	k.events = NULL;
	k.what |= CHUNK_EVENTS;
	k.chunk = chunk_new(&run);
	k.chunk->resolved = true;
	*vec_add(&c->done) = k;
	l->like = (struct chunk_ref){ 0 };
	l->words.n = 0;
}

/* Closes what the lane has and begins a chunk at item i. */
static void open_lane(struct chunk_builder *c, struct chunk_builder_lane *l,
		      const struct stream_item *i)
{
	if (!l->like.chunk)
		*vec_add(&c->busy) = i->event->thread;
	/* An empty lane has to be listed as busy; close_lane() does nothing then. */
	close_lane(c, l, i->event->thread);
	l->like = chunk_ref_get(i->ref);
	l->near_tsc = l->last_tsc = i->event->tsc;
	l->cpu = i->event->cpu;
	l->lost = l->calls = l->records = 0;
}

/* Returns the lane that the item's record is appended to. A loss (no words) always begins a chunk,
 * since a chunk tells its losses before its first record. */
static struct chunk_builder_lane *lane_for(struct chunk_builder *c, const struct stream_item *i)
{
	struct chunk_builder_lane *l;
	uint64_t tsc = i->event->tsc;

	while (c->lanes.n <= i->event->thread)
		*vec_add(&c->lanes) = (struct chunk_builder_lane){ 0 };
	l = &c->lanes.at[i->event->thread];
	if (!i->words || l->like.chunk != i->ref->chunk || l->cpu != i->event->cpu ||
	    tsc - l->last_tsc + FAR > 2 * FAR)
		open_lane(c, l, i);
	l->last_tsc = tsc;
	return l;
}

void chunk_builder_record(struct chunk_builder *c, const struct stream_item *i,
			  const uint64_t *words)
{
	struct chunk_builder_lane *l = lane_for(c, i);
	size_t n = 1 + record_payload(*words);

	vec_reserve(&l->words, l->words.n + n);
	memcpy(l->words.at + l->words.n, words, n * sizeof(*words));
	l->words.n += n;
	c->bytes += n * sizeof(*words);
	l->records += (uint64_t)record_counts(*words);
	l->calls += (uint64_t)record_is_call(*words);
}

/* Arguments are a record of their own before the entry, as the agent writes them. */
void chunk_builder_call(struct chunk_builder *c, const struct stream_item *i, const uint64_t *words)
{
	const struct event *e = i->event;
	uint64_t before[1 + RECORD_PAYLOAD_MAX];
	unsigned n = (unsigned)(e->count / 8);

	if (e->flags & EVENT_ARGUMENTS && n < RECORD_PAYLOAD_MAX) {
		before[0] = record_word(e->tsc, record_event_id(1 + n, RECORD_EVENT_ARGUMENTS),
					RECORD_EVENT);
		before[1] = e->fn;
		memcpy(before + 2, e->payload, n * sizeof(*before));
		chunk_builder_record(c, i, before);
	}
	chunk_builder_record(c, i, words);
}

void chunk_builder_lost(struct chunk_builder *c, const struct stream_item *i)
{
	lane_for(c, i)->lost = i->event->count;
}

void chunk_builder_flush(struct chunk_builder *c, struct ring *to)
{
	for (size_t i = 0; i < c->busy.n; i++)
		close_lane(c, &c->lanes.at[c->busy.at[i]], c->busy.at[i]);
	c->busy.n = 0;
	for (size_t i = 0; i < c->done.n; i++)
		ring_push(to, &c->done.at[i]);
	chunk_list_free(&c->done);
	c->bytes = 0;
}

void chunk_builder_free(struct chunk_builder *c)
{
	for (size_t i = 0; i < c->lanes.n; i++) {
		chunk_ref_put(&c->lanes.at[i].like);
		vec_free(&c->lanes.at[i].words);
	}
	vec_free(&c->lanes);
	vec_free(&c->busy);
	chunk_list_free(&c->done);
}
