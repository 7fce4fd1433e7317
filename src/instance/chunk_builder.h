/* SPDX-License-Identifier: MIT */
/* Builds chunks from records chosen one by one out of a stream (triggers.c). Not locked: it belongs
 * to the thread that has pump_lock. */
#pragma once
#include "instance/stream.h"

struct chunk_builder_lane {
	/* the chunk that the lane's records come from; .chunk NULL: the lane is empty */
	struct chunk_ref like;
	uint64_t near_tsc, last_tsc;
	uint16_t cpu;
	uint64_t lost, calls, records;
	VEC(uint64_t) words;
};

struct chunk_builder {
	VEC(struct chunk_builder_lane) lanes;  /* by thread */
	VEC(uint32_t) busy;          /* threads whose lanes have records */
	chunk_list done;
	size_t bytes;                /* of records, since the last flush */
};

/* Adds a record of the item's thread at the item's time: the item's own words or others. A thread's
 * records come in its order. */
void chunk_builder_record(struct chunk_builder *c, const struct stream_item *i,
			  const uint64_t *words);
/* Adds the item's arguments, if it is a call that has some, and then the record. */
void chunk_builder_call(struct chunk_builder *c, const struct stream_item *i,
			const uint64_t *words);
/* Adds the count of lost records of i, an EVENT_LOST. */
void chunk_builder_lost(struct chunk_builder *c, const struct stream_item *i);
/* Moves everything built so far into the ring. A caller that makes many records does it again and
 * again: of what leaves the ring nothing then stays in memory. */
void chunk_builder_flush(struct chunk_builder *c, struct ring *to);
void chunk_builder_free(struct chunk_builder *c);
