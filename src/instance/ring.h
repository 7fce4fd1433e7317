/* SPDX-License-Identifier: MIT */
/* What an instance keeps of its records: the runs of the last while, up to a size, oldest first. A run is as a
 * thread wrote it (words, not events), so that keeping costs a copy and no more; who reads puts the threads' runs
 * together by time (instance/merge.h). Chunks are shared: between instances, and with who reads them. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "instance/selection.h"
#include "model/cpumask.h"
#include "collect/drain.h"

struct chunk {
	atomic_uint refs;
	uint32_t thread;     /* in trace_info, once settled; else the slot in the session's memory */
	bool settled;
	bool sleeps;         /* EVENT_SLEPT is in it, if it was made by chunk_add */
	bool refused;        /* it never will be: the traced program spoiled what belongs to it */
	uint16_t cpu;        /* of the first record */
	uint64_t near_tsc;   /* near the first record */
	uint64_t lost;       /* records of the thread lost right before */
	uint64_t calls, records;
	size_t n;
	uint64_t words[];
};

/* A copy of the run, with one reference. */
struct chunk *chunk_new(const struct drain_run *run);
/* A settled chunk is made anew, of some of its records: an empty one of the same thread and time with room for all of
 * them; one more record (n words); and in the end what it takes, or NULL if nothing is in it. */
struct chunk *chunk_like(const struct chunk *c);
void chunk_add(struct chunk *c, const uint64_t *words, size_t n);
struct chunk *chunk_or_nothing(struct chunk *c);
/* The records of these processors, in a chunk of its own; NULL: there are none. */
struct chunk *chunk_on_cpus(const struct chunk *c, const struct cpumask *cpus);
struct chunk *chunk_get(struct chunk *c);
void chunk_put(struct chunk *c); /* NULL is fine */

/* A chunk as one instance has it: what of it is the instance's. */
enum keep { KEEP_FUNCTIONS = 1, KEEP_EVENTS = 2, KEEP_SLEEPS = 4 /* of functions: EVENT_SLEPT */ };
struct kept {
	struct chunk *chunk;
	unsigned what;
	struct selection *events; /* of KEEP_EVENTS; NULL: all */
};

struct kept kept_get(const struct kept *k); /* with references */
void kept_put(const struct kept *k);

typedef VEC(struct kept) chunk_list;
/* n of them more, with references. */
void chunk_list_copy(chunk_list *to, const struct kept *from, size_t n);
void chunk_list_free(chunk_list *l);

struct ring_counts {
	uint64_t entries;    /* records in it */
	uint64_t overrun;    /* records that newer ones took the place of */
	uint64_t dropped;    /* records that found no place (nooverwrite) */
	uint64_t read;       /* taken by ring_take */
	uint64_t lost;       /* by the traced program, before they came here */
	uint64_t bytes;
};

/* What is not there any more, or never was, of one CPU: as in ring_counts. */
struct ring_gone {
	uint64_t overrun, dropped, read, lost;
	uint64_t lost_gone; /* of lost: what was told before records that are overrun or dropped */
};

struct ring {
	pthread_mutex_t lock;
	chunk_list at;       /* a queue: from `first` on */
	size_t first;
	uint64_t limit;      /* bytes */
	bool overwrite;
	struct ring_counts counts;
	VEC(struct ring_gone) gone; /* by CPU */
};

void ring_init(struct ring *r, uint64_t limit, bool overwrite);
void ring_free(struct ring *r);
/* Keeps the chunk (references of its own) and lets the oldest go, or drops it. */
void ring_push(struct ring *r, const struct kept *k);
void ring_configure(struct ring *r, uint64_t limit, bool overwrite);
void ring_clear(struct ring *r);
/* References to all there is, oldest first; chunk_list_free. */
void ring_copy(struct ring *r, chunk_list *out);
/* The same without chunks whose records are all from before this time. */
void ring_copy_since(struct ring *r, uint64_t tsc, chunk_list *out);
/* The same, and they are gone from the ring: they were read. Only up to one that is neither settled nor refused: it came
 * after what settles them was held. reader: they count as read; else whoever takes them counts. */
void ring_take(struct ring *r, bool reader, chunk_list *out);
/* All there is, with their counts; the ring begins anew. */
struct ring_counts ring_move(struct ring *r, chunk_list *out);
bool ring_is_empty(struct ring *r);
struct ring_counts ring_counts(struct ring *r);
struct ring_gone ring_gone(struct ring *r, unsigned cpu);
