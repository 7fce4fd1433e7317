/* SPDX-License-Identifier: MIT */
/* An instance's ring of chunks, oldest first, bounded in bytes.
 *
 * All functions may be called from any thread; the ring's lock is innermost. */
#pragma once
#include <pthread.h>

#include "instance/chunk.h"

struct ring_counts {
	uint64_t entries;    /* records in it */
	uint64_t overrun;    /* records that newer ones replaced */
	uint64_t dropped;    /* records that did not fit (nooverwrite) */
	uint64_t read;       /* taken by ring_take */
	uint64_t lost;       /* by the traced program, before they came here */
	uint64_t bytes;
};

/* Records of one CPU that left the ring or never came into it: the counters of ring_counts. */
struct ring_losses {
	uint64_t overrun, dropped, read, lost;
	/* the part of lost that stood before records that are overrun or dropped */
	uint64_t lost_gone;
};

/* Records of one thread that were dropped, and that no reader was told of yet. */
struct ring_missed {
	uint64_t before_oldest;  /* of its chunks in the ring */
	uint64_t before_next;    /* of its chunks to come (nooverwrite) */
	uint64_t tsc;            /* begin of the chunk dropped last */
	uint16_t cpu;            /* its CPU */
};

struct ring {
	pthread_mutex_t lock;
	chunk_list at;       /* a queue: from `first` on */
	size_t first;
	uint64_t limit;      /* bytes */
	bool overwrite;
	bool awaited;        /* ring_await() */
	struct ring_counts counts;
	VEC(struct ring_losses) gone; /* by CPU */
	VEC(struct ring_missed) missed; /* by thread */
	uint64_t missed_unknown; /* of threads that were not known yet */
};

/* limit: bytes of chunks. */
void ring_init(struct ring *r, uint64_t limit, bool overwrite);
void ring_free(struct ring *r);
/* Adds the chunk with a reference of its own. With `overwrite` the oldest chunks make room; without
 * it the new chunk is dropped if it does not fit. All drops are counted. */
void ring_push(struct ring *r, const struct chunk_ref *k);
/* A smaller limit drops the oldest chunks at once. */
void ring_configure(struct ring *r, uint64_t limit, bool overwrite);
uint64_t ring_limit(struct ring *r); /* bytes of chunks */
/* awaited: programs wait for a reader of this ring. Then `more` bytes are on their way besides what
 * it has; returns whether the reader lags: the programs have to wait, since the ring has as much as
 * it may keep, or RING_LAG bytes. What was taken from them before goes into the ring all the same:
 * nothing is dropped until it has RING_PAST bytes more than its limit. */
bool ring_await(struct ring *r, bool awaited, uint64_t more);
#define RING_LAG (64u << 20)
#define RING_PAST (1u << 30)
/* Drops all chunks and resets the counters. */
void ring_clear(struct ring *r);
/* Appends references to all chunks, oldest first; the caller frees them by chunk_list_free. */
void ring_copy(struct ring *r, chunk_list *out);
/* ring_copy without the chunks whose records are all older than tsc. */
void ring_copy_since(struct ring *r, uint64_t tsc, chunk_list *out);
/* ring_copy that removes what it copies. Stops at the first chunk that is neither resolved nor
 * refused: it came after pump_lock. reader: counts them as read, and tells what was dropped before
 * them (chunk_ref.missed); false: the caller counts both. */
void ring_take(struct ring *r, bool reader, chunk_list *out);
/* Moves everything out, and returns and resets the counters. */
struct ring_counts ring_move(struct ring *r, chunk_list *out);
bool ring_is_empty(struct ring *r);
/* The counters of all CPUs. */
struct ring_counts ring_counts(struct ring *r);
/* The losses of one CPU's records. */
struct ring_losses ring_losses(struct ring *r, unsigned cpu);
