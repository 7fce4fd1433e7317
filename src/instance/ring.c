/* SPDX-License-Identifier: MIT */
/* Rings of chunks. The pump's thread pushes chunks; readers copy or take them under pump_lock. A
 * ring keeps whole chunks, so that counts by CPU have to look into a chunk when it leaves
 * (count_gone). Memory is bounded by the ring's limit, plus what readers still refer to. Nothing
 * fails. */
#include "instance/ring.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/cpumask.h"
#include "shared/record.h"

static uint64_t bytes_of(const struct chunk *c)
{
	return sizeof(*c) + c->n * sizeof(c->words[0]);
}

/* Ticks of the TSC. A chunk without words (of losses alone) has the time near which they were. */
static uint64_t begin_of(const struct chunk *c)
{
	return c->n ? record_tsc(c->words[0], c->near_tsc) : c->near_tsc;
}

/* --- by CPU ------------------------------------------------------------------------- */

/* Returns the counters of a CPU. The number is the traced program's: one out of range counts as CPU
 * 0. */
static struct ring_losses *gone_at(struct ring *r, uint64_t cpu)
{
	if (cpu >= CPUS_MAX)
		cpu = 0;
	while (r->gone.n <= cpu)
		*vec_add(&r->gone) = (struct ring_losses){ 0 };
	return &r->gone.at[cpu];
}

/* Adds the chunk's records to a counter (offset in struct ring_losses) of the CPU that each was
 * made on. A thread may have moved while it wrote the chunk. The words may be the program's: a
 * payload that would go beyond the chunk ends the count. */
static void count_gone(struct ring *r, const struct chunk *c, size_t counter)
{
	uint64_t cpu = c->cpu, n = 0;

	for (size_t i = 0; i < c->n; i += 1 + record_payload(c->words[i])) {
		bool moved = record_kind(c->words[i]) == RECORD_EVENT &&
			     record_type(c->words[i]) == RECORD_EVENT_CPU;

		n += (uint64_t)record_counts(c->words[i]);
		if (!moved || i + 1 >= c->n)
			continue;
		*(uint64_t *)((char *)gone_at(r, cpu) + counter) += n;
		n = 0;
		cpu = c->words[i + 1];
	}
	*(uint64_t *)((char *)gone_at(r, cpu) + counter) += n;
}

struct ring_losses ring_losses(struct ring *r, unsigned cpu)
{
	struct ring_losses gone = { 0 };

	pthread_mutex_lock(&r->lock);
	if (cpu < r->gone.n)
		gone = r->gone.at[cpu];
	pthread_mutex_unlock(&r->lock);
	return gone;
}

/* --- by thread ---------------------------------------------------------------------- */

/* Returns what the chunk's thread misses; NULL: the thread is not known. */
static struct ring_missed *missed_at(struct ring *r, const struct chunk *c)
{
	if (!c->resolved)
		return NULL;
	while (r->missed.n <= c->thread)
		*vec_add(&r->missed) = (struct ring_missed){ 0 };
	return &r->missed.at[c->thread];
}

/* Adds to a counter of what a thread misses, or to that of unknown threads. Time and CPU are kept
 * for tell_missed(), which may have no chunk to take them from. */
static void miss(struct ring *r, const struct chunk *c, size_t counter, uint64_t n)
{
	struct ring_missed *m = missed_at(r, c);

	if (!m) {
		r->missed_unknown += n;
		return;
	}
	*(uint64_t *)((char *)m + counter) += n;
	m->tsc = begin_of(c);
	m->cpu = c->cpu;
}

/* Takes a count for a chunk, once. */
static uint64_t claim(uint64_t *count)
{
	uint64_t n = *count;

	*count = 0;
	return n;
}

/* Adds what the chunk's thread missed before this chunk, its oldest. Losses of threads that were
 * not known go with whichever chunk is read next: each is told once. */
static void claim_missed(struct ring *r, struct chunk_ref *k)
{
	struct ring_missed *m = missed_at(r, k->chunk);

	if (m)
		k->missed += claim(&m->before_oldest) + claim(&r->missed_unknown);
}

/* Tells by chunks without records what threads missed of which the ring has nothing. */
static void tell_missed(struct ring *r, chunk_list *out)
{
	for (uint32_t i = 0; i < r->missed.n; i++) {
		struct ring_missed *m = &r->missed.at[i];
		uint64_t n = claim(&m->before_oldest) + claim(&m->before_next);

		if (n)
			*vec_add(out) =
				(struct chunk_ref){ .chunk = chunk_lost(i, m->cpu, m->tsc, n) };
	}
}

static void forget_missed(struct ring *r)
{
	r->missed.n = 0;
	r->missed_unknown = 0;
}

/* --- the ring ----------------------------------------------------------------------- */

void ring_init(struct ring *r, uint64_t limit, bool overwrite)
{
	*r = (struct ring){ .limit = limit, .overwrite = overwrite };
	pthread_mutex_init(&r->lock, NULL);
}

static void drop_all(struct ring *r)
{
	for (size_t i = r->first; i < r->at.n; i++)
		chunk_ref_put(&r->at.at[i]);
	r->at.n = r->first = 0;
	r->counts.bytes = r->counts.entries = 0;
}

void ring_free(struct ring *r)
{
	drop_all(r);
	vec_free(&r->at);
	vec_free(&r->gone);
	vec_free(&r->missed);
	pthread_mutex_destroy(&r->lock);
}

/* Called with r->lock. A chunk's own losses and what was missed before it are missed with it; they
 * would else be told by nobody. */
static void drop_oldest(struct ring *r)
{
	const struct chunk_ref *k = &r->at.at[r->first++];

	r->counts.bytes -= bytes_of(k->chunk);
	r->counts.entries -= k->chunk->records;
	r->counts.overrun += k->chunk->records;
	count_gone(r, k->chunk, offsetof(struct ring_losses, overrun));
	gone_at(r, k->chunk->cpu)->lost_gone += k->chunk->lost;
	miss(r, k->chunk, offsetof(struct ring_missed, before_oldest),
	     k->chunk->records + k->chunk->lost + k->missed);
	chunk_ref_put(k);
}

/* Moves the queue to the front when its dead part is the longer one (and at least 64 chunks). */
static void compact_chunks(struct ring *r)
{
	if (r->first < 64 || r->first < r->at.n / 2)
		return;
	memmove(r->at.at, r->at.at + r->first, (r->at.n - r->first) * sizeof(r->at.at[0]));
	r->at.n -= r->first;
	r->first = 0;
}

/* Bytes that the ring keeps: what a reader comes for is not dropped so soon. */
static uint64_t room(const struct ring *r)
{
	return r->limit + (r->awaited ? RING_PAST : 0);
}

/* Drops the oldest chunks beyond the limit. The newest stays, however large. */
static void shrink_ring(struct ring *r)
{
	while (r->counts.bytes > room(r) && r->at.n - r->first > 1)
		drop_oldest(r);
	compact_chunks(r);
}

/* Called with r->lock. The ring has a reference of its own; readers have theirs, and a chunk lives
 * as long as the last. */
static void keep_chunk(struct ring *r, const struct chunk_ref *k)
{
	const struct chunk *c = k->chunk;
	struct ring_missed *m = missed_at(r, c);
	struct chunk_ref *kept = vec_add(&r->at);

	*kept = chunk_ref_get(k);
	kept->missed += m ? claim(&m->before_next) : 0;
	r->counts.bytes += bytes_of(c);
	r->counts.entries += c->records;
	r->counts.lost += c->lost;
	gone_at(r, c->cpu)->lost += c->lost;
}

/* Counts a chunk that does not fit (nooverwrite). `dropped` counts records, as the kernel's
 * "dropped events"; losses were never records here. */
static void drop_new(struct ring *r, const struct chunk *c)
{
	r->counts.dropped += c->records;
	r->counts.lost += c->lost;
	count_gone(r, c, offsetof(struct ring_losses, dropped));
	gone_at(r, c->cpu)->lost += c->lost;
	gone_at(r, c->cpu)->lost_gone += c->lost;
	miss(r, c, offsetof(struct ring_missed, before_next), c->records + c->lost);
}

void ring_push(struct ring *r, const struct chunk_ref *k)
{
	const struct chunk *c = k->chunk;

	pthread_mutex_lock(&r->lock);
	/* An empty ring takes any chunk: a chunk larger than the limit would never fit
	 * otherwise. */
	if (r->overwrite || r->counts.bytes + bytes_of(c) <= room(r) || r->at.n == r->first)
		keep_chunk(r, k);
	else
		drop_new(r, c);
	if (r->overwrite)
		shrink_ring(r);
	pthread_mutex_unlock(&r->lock);
}

void ring_configure(struct ring *r, uint64_t limit, bool overwrite)
{
	pthread_mutex_lock(&r->lock);
	r->limit = limit;
	r->overwrite = overwrite;
	shrink_ring(r);
	pthread_mutex_unlock(&r->lock);
}

uint64_t ring_limit(struct ring *r)
{
	uint64_t limit;

	pthread_mutex_lock(&r->lock);
	limit = r->limit;
	pthread_mutex_unlock(&r->lock);
	return limit;
}

/* RING_PAST holds what one pass takes of a user's programs, whose memory has 512 MiB, and once more
 * for passes that nobody could put off. Where it does not (very large -b, programs of several
 * users) the oldest are dropped, and counted as overrun. */
bool ring_await(struct ring *r, bool awaited, uint64_t more)
{
	bool lags;

	pthread_mutex_lock(&r->lock);
	r->awaited = awaited;
	lags = awaited && r->counts.bytes + more >= (r->limit < RING_LAG ? r->limit : RING_LAG);
	pthread_mutex_unlock(&r->lock);
	return lags;
}

void ring_clear(struct ring *r)
{
	pthread_mutex_lock(&r->lock);
	drop_all(r);
	r->counts = (struct ring_counts){ 0 };
	r->gone.n = 0;
	forget_missed(r);
	pthread_mutex_unlock(&r->lock);
}

void ring_copy(struct ring *r, chunk_list *out)
{
	size_t n = out->n;

	pthread_mutex_lock(&r->lock);
	if (r->at.n)
		chunk_list_copy(out, r->at.at + r->first, r->at.n - r->first);
	/* `trace` tells losses in its header and trace_pipe by lines, as the kernel does. */
	for (; n < out->n; n++)
		out->at[n].missed = 0;
	pthread_mutex_unlock(&r->lock);
}

/* The longest delay of a stamp, in ticks (some 6 ms): chunks that end so shortly before tsc are
 * kept. */
#define LATE_TICKS (UINT64_C(1) << 24)

/* Walks from the newest chunk back. A chunk ends before its thread's next one begins, so that once
 * a thread's chunk begins before tsc, all its older chunks are over. That youngest one is kept, for
 * it may last until tsc. *out takes over the references that are left of the copy. */
void ring_copy_since(struct ring *r, uint64_t tsc, chunk_list *out)
{
	VEC(bool) over = { 0 }; /* by thread: a later chunk of it begins before tsc, too */
	chunk_list all = { 0 };

	ring_copy(r, &all);
	for (size_t i = all.n; i-- > 0;) {
		const struct chunk *c = all.at[i].chunk;

		while (c->resolved && over.n <= c->thread)
			*vec_add(&over) = false;
		if (!c->resolved || over.at[c->thread]) {
			chunk_ref_put(&all.at[i]);
			all.at[i].chunk = NULL;
		} else if (begin_of(c) + LATE_TICKS < tsc) {
			over.at[c->thread] = true;
		}
	}
	for (size_t i = 0; i < all.n; i++)
		if (all.at[i].chunk)
			*vec_add(out) = all.at[i];
	vec_free(&all);
	vec_free(&over);
}

static bool is_looked_at(const struct chunk *c)
{
	return c->resolved || c->refused;
}

/* A chunk that nobody has looked at keeps the later ones, which have to follow it. */
void ring_take(struct ring *r, bool reader, chunk_list *out)
{
	pthread_mutex_lock(&r->lock);
	/* The list takes the ring's reference over. */
	while (r->first < r->at.n && is_looked_at(r->at.at[r->first].chunk)) {
		struct chunk_ref *k = &r->at.at[r->first++];

		r->counts.bytes -= bytes_of(k->chunk);
		r->counts.entries -= k->chunk->records;
		if (reader) {
			r->counts.read += k->chunk->records;
			count_gone(r, k->chunk, offsetof(struct ring_losses, read));
			claim_missed(r, k);
		}
		*vec_add(out) = *k;
	}
	if (!reader)
		forget_missed(r);
	else if (r->first == r->at.n)
		tell_missed(r, out);
	compact_chunks(r);
	pthread_mutex_unlock(&r->lock);
}

struct ring_counts ring_move(struct ring *r, chunk_list *out)
{
	struct ring_counts counts;

	pthread_mutex_lock(&r->lock);
	for (size_t i = r->first; i < r->at.n; i++)
		*vec_add(out) = r->at.at[i];
	r->at.n = r->first = 0;
	counts = r->counts;
	r->counts = (struct ring_counts){ 0 };
	r->gone.n = 0;
	forget_missed(r);
	pthread_mutex_unlock(&r->lock);
	return counts;
}

bool ring_is_empty(struct ring *r)
{
	bool empty;

	pthread_mutex_lock(&r->lock);
	empty = r->first == r->at.n;
	pthread_mutex_unlock(&r->lock);
	return empty;
}

struct ring_counts ring_counts(struct ring *r)
{
	struct ring_counts c;

	pthread_mutex_lock(&r->lock);
	c = r->counts;
	pthread_mutex_unlock(&r->lock);
	return c;
}
