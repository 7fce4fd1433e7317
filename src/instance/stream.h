/* SPDX-License-Identifier: MIT */
/* Chunks of several threads as one stream of records by time: all there are at once (merge.h), or as they come
 * (triggers.h). A thread's records keep their order whatever their stamps. */
#pragma once
#include "instance/ring.h"
#include "trace/event.h"

struct stream;

struct stream_item {
	const struct event *event;
	uint64_t time;           /* the event's, or what its thread had come to, if that is later */
	const struct kept *kept; /* the chunk that it is of */
	const uint64_t *words;   /* the record; NULL: EVENT_LOST has none */
	const struct stack_copy *stack; /* the thread's, as it stood then; NULL: it left none */
};

/* stacks: those that threads leave are put together. */
struct stream *stream_new(bool stacks);
void stream_free(struct stream *s); /* NULL is fine */
/* A settled chunk, behind those that its thread has. Takes a reference. */
void stream_add(struct stream *s, const struct kept *k);
/* The next one before `until`; false: there is none yet. What it points to holds until the next call. */
bool stream_next(struct stream *s, uint64_t until, struct stream_item *out);
