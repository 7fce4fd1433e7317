/* SPDX-License-Identifier: MIT */
/* A chunk has the words of one thread as the thread wrote them, so that making one costs a copy and
 * no decoding; readers merge the threads' chunks by time (instance/merge.h). Chunks are reference
 * counted: instances and readers share them. Its functions may be called from any thread. */
#pragma once
#include <stdatomic.h>

#include "base/vec.h"
#include "collect/drain.h"
#include "instance/selection.h"
#include "model/cpumask.h"

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
/* Returns a resolved chunk without records, of a thread that lost some at a time; one reference. */
struct chunk *chunk_lost(uint32_t thread, uint16_t cpu, uint64_t tsc, uint64_t lost);
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
	uint64_t missed;          /* the thread's records right before it that the ring dropped */
};

struct chunk_ref chunk_ref_get(const struct chunk_ref *k); /* a copy, with references of its own */
void chunk_ref_put(const struct chunk_ref *k);

typedef VEC(struct chunk_ref) chunk_list;
/* Appends n chunks, with references of their own. */
void chunk_list_copy(chunk_list *to, const struct chunk_ref *from, size_t n);
/* Drops all references; the list is empty then. */
void chunk_list_free(chunk_list *l);
