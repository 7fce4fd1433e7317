/* SPDX-License-Identifier: MIT */
/* An instance's ring of chunks, oldest first, bounded in bytes. A chunk has the words of one thread
 * as the thread wrote them, so that adding one costs a copy and no decoding; readers merge the
 * threads' chunks by time (instance/merge.h). Chunks are reference counted: instances and readers
 * share them.
 *
 * All ring functions may be called from any thread; the ring's lock is innermost. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "instance/selection.h"
#include "model/cpumask.h"
#include "collect/drain.h"

struct chunk {
	atomic_uint refs;
	/* index in trace_info once resolved; until then the slot in the session memory */
	uint32_t thread;
	bool resolved;
	bool sleeps;         /* EVENT_SLEPT is in it, if it was made by chunk_add */
	/* never resolved: the traced program overwrote what identifies the thread */
	bool refused;
	uint16_t cpu;        /* of the first record */
	uint64_t near_tsc;   /* the base from which the first record's time is unpacked */
	uint64_t lost;       /* records that the thread lost right before this chunk */
	uint64_t calls, records;
	size_t n;
	uint64_t words[];
};

/* A copy of the run, with one reference, to be dropped by chunk_put. */
struct chunk *chunk_new(const struct drain_run *run);
/* Copy some records of a resolved chunk: chunk_like makes an empty chunk of the same thread and
 * time with room for all records, chunk_add adds a record of n words, chunk_or_nothing trims the
 * chunk, or frees it and returns NULL if it is empty. */
struct chunk *chunk_like(const struct chunk *c);
void chunk_add(struct chunk *c, const uint64_t *words, size_t n);
struct chunk *chunk_or_nothing(struct chunk *c);
/* Returns a new chunk with the records made on these CPUs; NULL: it has none. */
struct chunk *chunk_on_cpus(const struct chunk *c, const struct cpumask *cpus);
/* Adds a reference and returns c. From any thread. */
struct chunk *chunk_get(struct chunk *c);
void chunk_put(struct chunk *c); /* NULL is fine */

/* A reference to a chunk, and which of its records belong to the instance. */
enum chunk_content {
	CHUNK_FUNCTIONS = 1,
	CHUNK_EVENTS = 2,
	CHUNK_SLEEPS = 4 /* EVENT_SLEPT, for the times of functions */
};
struct chunk_ref {
	struct chunk *chunk;
	unsigned what;
	struct selection *events; /* of CHUNK_EVENTS; NULL: all */
};

struct chunk_ref chunk_ref_get(const struct chunk_ref *k); /* a copy, with references of its own */
void chunk_ref_put(const struct chunk_ref *k);

typedef VEC(struct chunk_ref) chunk_list;
/* Appends n chunks, with references of their own. */
void chunk_list_copy(chunk_list *to, const struct chunk_ref *from, size_t n);
/* Drops all references; the list is empty then. */
void chunk_list_free(chunk_list *l);

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

struct ring {
	pthread_mutex_t lock;
	chunk_list at;       /* a queue: from `first` on */
	size_t first;
	uint64_t limit;      /* bytes */
	bool overwrite;
	struct ring_counts counts;
	VEC(struct ring_losses) gone; /* by CPU */
};

/* limit: bytes of chunks. */
void ring_init(struct ring *r, uint64_t limit, bool overwrite);
void ring_free(struct ring *r);
/* Adds the chunk with a reference of its own. With `overwrite` the oldest chunks make room; without
 * it the new chunk is dropped if it does not fit. All drops are counted. */
void ring_push(struct ring *r, const struct chunk_ref *k);
/* A smaller limit drops the oldest chunks at once. */
void ring_configure(struct ring *r, uint64_t limit, bool overwrite);
/* Drops all chunks and resets the counters. */
void ring_clear(struct ring *r);
/* Appends references to all chunks, oldest first; the caller frees them by chunk_list_free. */
void ring_copy(struct ring *r, chunk_list *out);
/* ring_copy without the chunks whose records are all older than tsc. */
void ring_copy_since(struct ring *r, uint64_t tsc, chunk_list *out);
/* ring_copy that removes what it copies. Stops at the first chunk that is neither resolved nor
 * refused: it came after pump_lock. reader: counts them as read; false: the caller counts them. */
void ring_take(struct ring *r, bool reader, chunk_list *out);
/* Moves everything out, and returns and resets the counters. */
struct ring_counts ring_move(struct ring *r, chunk_list *out);
bool ring_is_empty(struct ring *r);
/* The counters of all CPUs, and those of one. */
struct ring_counts ring_counts(struct ring *r);
struct ring_losses ring_losses(struct ring *r, unsigned cpu);
