/* SPDX-License-Identifier: MIT */
/* Records that were chosen one by one out of a stream, as chunks again. */
#pragma once
#include "instance/stream.h"

struct cut_lane {
	struct kept like;         /* the chunk that the records are of; chunk NULL: there are none */
	uint64_t near_tsc, last_tsc;
	uint16_t cpu;
	uint64_t lost, calls, records;
	VEC(uint64_t) words;
};

struct cut {
	VEC(struct cut_lane) lanes;  /* by thread */
	VEC(uint32_t) busy;          /* threads that have records in their lanes */
	chunk_list done;
};

/* A record made by the thread of the item, right then: the item's, or another. Those of a thread come in its order. */
void cut_record(struct cut *c, const struct stream_item *i, const uint64_t *words);
/* So many records are missing here as the item, EVENT_LOST, says. */
void cut_lost(struct cut *c, const struct stream_item *i);
/* All so far, into the ring. */
void cut_flush(struct cut *c, struct ring *to);
void cut_free(struct cut *c);
