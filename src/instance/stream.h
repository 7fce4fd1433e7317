/* SPDX-License-Identifier: MIT */
/* Merges chunks of several threads into one stream of records in order of time: all chunks at once
 * (merge.h), or as they arrive (triggers.h). A thread's records keep their order whatever their
 * time stamps. Not locked; the caller has pump_lock. */
#pragma once
#include "instance/ring.h"
#include "trace/event.h"

struct clock;
struct stream;

/* A record as the stream gives it out. */
struct stream_item {
	const struct event *event;
	/* the event's time, or the latest of its thread so far if that is later */
	uint64_t time;
	uint64_t stamp;                /* the same as it was recorded */
	const struct chunk_ref *ref;  /* the chunk that has it */
	const uint64_t *words;   /* the record; NULL: EVENT_LOST has none */
	/* copy of the thread's stack at the record; NULL: none was taken */
	const struct stack_copy *stack;
};

/* stacks: whether copies of stacks are reassembled. stream_free frees the result. */
struct stream *stream_new(bool stacks);
void stream_free(struct stream *s); /* NULL is fine */
/* Before the first chunk: the clock puts records' times right as they are unpacked (clock_place()).
 * NULL: they stay. */
void stream_set_clock(struct stream *s, const struct clock *clock);
/* Appends a resolved chunk to those of its thread. Takes a reference. */
void stream_add(struct stream *s, const struct chunk_ref *k);
/* Gives the next record before the TSC `until`; false: there is none yet. Its pointers are valid
 * until the next call. */
bool stream_next(struct stream *s, uint64_t until, struct stream_item *out);
