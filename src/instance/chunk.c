/* SPDX-License-Identifier: MIT */
/* Chunks: their records and their references. The pump's thread makes them out of runs; filters and
 * readers, on any thread, make smaller ones out of them. A chunk's records are not changed once
 * others have it; the last reference frees it. Nothing fails. */
#include "instance/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/record.h"

/* Its one reference is the caller's. The words are copied: the run's are the session's until the
 * next pass. */
struct chunk *chunk_new(const struct drain_run *run)
{
	struct chunk *c = mem_zalloc(sizeof(*c) + run->n * sizeof(c->words[0]));

	atomic_init(&c->refs, 1);
	c->thread = run->slot;
	c->cpu = run->cpu;
	c->near_tsc = run->near_tsc;
	c->lost = run->lost;
	c->calls = run->calls;
	c->records = run->records;
	c->n = run->n;
	if (run->n)
		memcpy(c->words, run->words, run->n * sizeof(c->words[0]));
	return c;
}

/* Nothing in it has to be resolved: it is a loss without records. */
struct chunk *chunk_lost(uint32_t thread, uint16_t cpu, uint64_t tsc, uint64_t lost)
{
	struct chunk *c = mem_zalloc(sizeof(*c));

	atomic_init(&c->refs, 1);
	c->thread = thread;
	c->resolved = true;
	c->cpu = cpu;
	c->near_tsc = tsc;
	c->lost = lost;
	return c;
}

/* Empty, with room for all words of c: chunk_add() does not grow it. */
struct chunk *chunk_like(const struct chunk *c)
{
	struct chunk *out = mem_zalloc(sizeof(*out) + c->n * sizeof(c->words[0]));

	atomic_init(&out->refs, 1);
	out->thread = c->thread;
	out->resolved = true;
	out->cpu = c->cpu;
	out->near_tsc = c->near_tsc;
	out->lost = c->lost;
	return out;
}

/* words: one record with its payload. */
void chunk_add(struct chunk *c, const uint64_t *words, size_t n)
{
	memcpy(c->words + c->n, words, n * sizeof(*words));
	c->n += n;
	c->records += record_counts(words[0]);
	c->sleeps |= record_is_sleep(words[0]);
	c->calls += record_is_call(words[0]);
}

/* Takes c over; NULL: there was nothing to keep. A chunk with nothing but losses is kept. */
struct chunk *chunk_or_nothing(struct chunk *c)
{
	if (c->records || c->lost || c->sleeps)
		/* Empty chunks are common where a record filter selects little. */
		return mem_realloc(c, 1, sizeof(*c) + c->n * sizeof(c->words[0]));
	chunk_put(c);
	return NULL;
}

/* Losses and sleeps stay whatever the CPU: nobody knows on which CPU records were lost. */
struct chunk *chunk_on_cpus(const struct chunk *c, const struct cpumask *cpus)
{
	struct chunk *out = chunk_like(c);
	uint16_t cpu = c->cpu;
	size_t n;

	for (size_t at = 0; at < c->n; at += n) {
		uint64_t word = c->words[at];
		bool moves =
			record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_CPU;

		n = 1 + record_payload(word);
		/* The length is the program's. */
		if (n > c->n - at)
			break;
		cpu = moves && n > 1 ? (uint16_t)c->words[at + 1] : cpu;
		if (moves || record_is_sleep(word) || cpumask_has(cpus, cpu))
			chunk_add(out, c->words + at, n);
	}
	return chunk_or_nothing(out);
}

struct chunk *chunk_get(struct chunk *c)
{
	/* Relaxed: the caller holds a reference, so that the chunk stays. */
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void chunk_put(struct chunk *c)
{
	/* Release and acquire: each pairs with the other chunk_put() calls, so that the last holder
	 * has seen all uses of the chunk before it frees it. */
	if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

struct chunk_ref chunk_ref_get(const struct chunk_ref *k)
{
	return (struct chunk_ref){ chunk_get(k->chunk), k->what,
				   k->events ? selection_get(k->events) : NULL, k->missed };
}

void chunk_ref_put(const struct chunk_ref *k)
{
	chunk_put(k->chunk);
	selection_put(k->events);
}

/* Appends; each copy holds a reference of its own. */
void chunk_list_copy(chunk_list *to, const struct chunk_ref *from, size_t n)
{
	vec_reserve(to, to->n + n + 1);
	for (size_t i = 0; i < n; i++)
		*vec_add(to) = chunk_ref_get(&from[i]);
}

void chunk_list_free(chunk_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		chunk_ref_put(&l->at[i]);
	vec_free(l);
}
