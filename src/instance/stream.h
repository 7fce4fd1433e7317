/* SPDX-License-Identifier: MIT */
/* Chunks of several threads as one stream of records in the order of time: all chunks at once (merge.h), or as they arrive
 * (triggers.h). A thread's records keep their order whatever their time stamps. */
#pragma once
#include "instance/ring.h"
#include "trace/event.h"

struct stream;

struct stream_item {
	const struct event *event;
	uint64_t time;           /* the event's, or the latest of its thread so far if that is later */
	const struct chunk_ref *ref;  /* the chunk that has it */
	const uint64_t *words;   /* the record; NULL: EVENT_LOST has none */
	const struct stack_copy *stack; /* copy of the thread's stack at the record; NULL: none was taken */
};

/* stacks: whether copies of stacks are reassembled. */
struct stream *stream_new(bool stacks);
void stream_free(struct stream *s); /* NULL is fine */
/* Appends a resolved chunk to its thread's. Takes a reference. */
void stream_add(struct stream *s, const struct chunk_ref *k);
/* The next record before the TSC `until`; false: there is none yet. Its pointers are valid until the next call. */
bool stream_next(struct stream *s, uint64_t until, struct stream_item *out);
