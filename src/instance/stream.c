/* SPDX-License-Identifier: MIT */
/* A heap of threads, ordered by the time of each one's next record. A thread is in the heap while
 * it has a record unpacked; one whose chunks are used up leaves it and returns with its next chunk
 * (stream_add). The record given out last stays in its lane until the next call, hence `given`.
 * merge.c, triggers.c and the wake-ups (wakes.c, wake_events.c) own one each, on the thread that
 * has pump_lock. Nothing fails. */
#include "instance/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "collect/clock.h"
#include "trace/unpack.h"

/* A thread's chunks, in order. */
struct stream_lane {
	uint32_t thread;
	chunk_list chunks;    /* from the one being unpacked on; earlier ones are dropped */
	size_t now, next;
	struct unpack unpack;
	/* latest time of its records so far */
	uint64_t time;
	uint64_t stamp;       /* the same as it was recorded */
	struct event event;   /* the next one */
	const uint64_t *words;
	bool waits;           /* is in the heap */
	/* copy of the thread's stack, as far as it was told; NULL: none */
	struct stack_copy *stack;
	struct call_arguments *arguments; /* of its next call; NULL: none */
};

struct stream {
	VEC(struct stream_lane *) lanes; /* by thread; NULL: it has no chunk */
	VEC(struct stream_lane *) heap;
	/* its event was given out last; it advances at the next call */
	struct stream_lane *given;
	bool stacks;
	const struct clock *clock; /* NULL: times stay as they are */
};

struct stream *stream_new(bool stacks)
{
	struct stream *s = mem_zalloc(sizeof(*s));

	s->stacks = stacks;
	return s;
}

void stream_set_clock(struct stream *s, const struct clock *clock)
{
	s->clock = clock;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->lanes.n; i++) {
		struct stream_lane *l = s->lanes.at[i];

		/* Chunks before `now` were dropped when they were used up. */
		for (size_t k = l ? l->now : 0; l && k < l->chunks.n; k++)
			chunk_ref_put(&l->chunks.at[k]);
		if (l)
			vec_free(&l->chunks);
		if (l)
			free(l->stack);
		if (l)
			free(l->arguments);
		free(l);
	}
	vec_free(&s->lanes);
	vec_free(&s->heap);
	free(s);
}

/* --- by time ------------------------------------------------------------------------ */

/* Threads with equal times keep an order of their own, so that repeated reads show the same
 * text. */
static bool lane_before(const struct stream_lane *a, const struct stream_lane *b)
{
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

/* --- a thread ----------------------------------------------------------------------- */

/* Moves the list to the front when its dead part is the longer one (and at least 16 chunks). */
static void compact_lane(struct stream_lane *l)
{
	if (l->now < 16 || l->now < l->chunks.n / 2)
		return;
	memmove(l->chunks.at, l->chunks.at + l->now,
		(l->chunks.n - l->now) * sizeof(l->chunks.at[0]));
	l->chunks.n -= l->now;
	l->next -= l->now;
	l->now = 0;
}

/* Opens the next chunk. Returns true if records were lost before it: the loss is an event of its
 * own, and the first. */
static bool open_chunk(struct stream_lane *l, bool stacks)
{
	const struct chunk_ref *k;
	const struct chunk *c;

	/* One chunk is kept open: its words are pointed to by the item given out last. */
	while (l->now < l->next)
		chunk_ref_put(&l->chunks.at[l->now++]);
	compact_lane(l);
	k = &l->chunks.at[l->next++];
	c = k->chunk;
	l->unpack = (struct unpack){ .at = c->words,
				     .end = c->words + c->n,
				     .tsc = c->near_tsc,
				     .cpu = c->cpu,
				     .thread = l->thread,
				     .stack = stacks ? &l->stack : NULL,
				     .arguments = &l->arguments };
	l->event = (struct event){ .kind = EVENT_LOST,
				   .count = c->lost + k->missed,
				   .tsc = c->near_tsc,
				   .thread = l->thread,
				   .cpu = c->cpu };
	/* A stack copy that has a gap must not be used, nor arguments before one. */
	if (l->event.count && l->stack)
		stack_copy_tell(l->stack, &l->event);
	if (l->event.count && l->arguments)
		call_arguments_tell(l->arguments, &l->event);
	return l->event.count > 0;
}

/* Puts the time of the lane's event right. */
static void place_event(struct stream_lane *l, const struct clock *clock)
{
	clock_place(clock, &l->event);
	/* By however little the lines of two processors disagree. */
	if (clock->live && l->event.tsc < l->time)
		l->event.tsc = l->time;
}

/* Unpacks the lane's next event. False: its chunks are used up. */
static bool advance_lane(struct stream_lane *l, const struct stream *s)
{
	l->words = NULL;
	while (!unpack_next(&l->unpack, &l->event)) {
		if (l->next == l->chunks.n)
			return false;
		if (open_chunk(l, s->stacks))
			break;
	}
	l->words = l->event.kind == EVENT_LOST ? NULL : l->unpack.record;
	if (l->event.tsc > l->stamp)
		l->stamp = l->event.tsc;
	if (s->clock)
		place_event(l, s->clock);
	/* Time never goes back within a thread, or the heap would give its records out of their
	 * order. */
	if (l->event.tsc > l->time)
		l->time = l->event.tsc;
	return true;
}

static struct stream_lane *lane_of(struct stream *s, uint32_t thread)
{
	while (s->lanes.n <= thread)
		*vec_add(&s->lanes) = NULL;
	if (!s->lanes.at[thread]) {
		s->lanes.at[thread] = mem_zalloc(sizeof(struct stream_lane));
		s->lanes.at[thread]->thread = thread;
	}
	return s->lanes.at[thread];
}

/* --- the stream --------------------------------------------------------------------- */

void stream_add(struct stream *s, const struct chunk_ref *k)
{
	struct stream_lane *l = lane_of(s, k->chunk->thread);

	*vec_add(&l->chunks) = chunk_ref_get(k);
	if (l->waits || !advance_lane(l, s))
		return;
	heap_push(&s->heap, l, lane_before);
	l->waits = true;
}

/* Moves the lane given out last on to its next record, and the heap with it. */
static void go_on(struct stream *s)
{
	struct stream_lane *l = s->given;

	s->given = NULL;
	if (!l)
		return;
	l->waits = advance_lane(l, s);
	if (l->waits)
		heap_sift(&s->heap, lane_before);
	else
		heap_pop(&s->heap, lane_before);
}

bool stream_next(struct stream *s, uint64_t until, struct stream_item *out)
{
	struct stream_lane *l;

	go_on(s);
	/* UINT64_MAX means everything, also records that are stamped so. */
	if (!s->heap.n || (s->heap.at[0]->time >= until && until != UINT64_MAX))
		return false;
	l = s->given = s->heap.at[0];
	out->event = &l->event;
	out->time = l->time;
	out->stamp = l->stamp;
	out->ref = &l->chunks.at[l->next - 1];
	out->words = l->words;
	out->stack = l->stack && l->stack->told ? l->stack : NULL;
	return true;
}
