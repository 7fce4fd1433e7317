/* SPDX-License-Identifier: MIT */
/* A table by the stack address of a call's return address, which no other open call of the
 * process has. probe.c calls it on the thread of the call, a signal handler too, and threads meet
 * in it. A key is KEPT_BUSY while its words change hands: the thread that stored KEPT_BUSY owns
 * them until it stores another key. A child has its parent's table, and so the calls that its own
 * stack has open.
 *
 * A call can have its words in either of two buckets, each of which is a cache line of keys. What
 * is left by an exception or longjmp stays until a call at the same stack address, or until both
 * buckets are full: then one of them goes, whose call, if it was still open, is counted when it
 * returns. */
#include "agent/kept.h"

#define KEPT_WAYS 8u
#define KEPT_BUCKETS 512u
#define KEPT_BUSY UINT64_C(1) /* no stack address: they are multiples of 8 */

static uint64_t keys[KEPT_BUCKETS * KEPT_WAYS] __attribute__((aligned(64)));
static struct kept_call {
	uint64_t tag, words[FETCH_ENTRY_WORDS];
} calls[KEPT_BUCKETS * KEPT_WAYS] __attribute__((aligned(64)));
static uint32_t turn; /* which one goes next; any value will do */

/* The two buckets of a call, as indices of their first entries. */
struct kept_buckets { uint32_t at[2]; };

static struct kept_buckets buckets_of(uint64_t sp, uint64_t tag)
{
	uint64_t h = ((sp >> 3) ^ tag << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return (struct kept_buckets){ { (uint32_t)(h >> 55) * KEPT_WAYS,
					(uint32_t)(h >> 46 & (KEPT_BUCKETS - 1)) * KEPT_WAYS } };
}

static uint64_t key_at(uint32_t i)
{
	return __atomic_load_n(&keys[i], __ATOMIC_RELAXED);
}

/* Takes hold of an entry whose key is `from`. The pair of release_call(). */
static bool hold_call(uint32_t i, uint64_t from)
{
	return __atomic_compare_exchange_n(&keys[i], &from, KEPT_BUSY, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The pair of hold_call(), which sees the words of an entry that it finds. */
static void release_call(uint32_t i, uint64_t key)
{
	__atomic_store_n(&keys[i], key, __ATOMIC_RELEASE);
}

/* Takes hold of the entry that has this event's words of a call at sp. -1: there is none. An older
 * tag of the event is found, too, and so goes. */
static int hold_own(const struct kept_buckets *p, uint64_t sp, uint64_t tag)
{
	for (unsigned b = 0; b < 2; b++)
		for (uint32_t i = p->at[b]; i < p->at[b] + KEPT_WAYS; i++)
			if (key_at(i) == sp && (calls[i].tag & 0xffff) == (tag & 0xffff) &&
			    hold_call(i, sp))
				return (int)i;
	return -1;
}

static int hold_empty(const struct kept_buckets *p)
{
	for (unsigned b = 0; b < 2; b++)
		for (uint32_t i = p->at[b]; i < p->at[b] + KEPT_WAYS; i++)
			if (!key_at(i) && hold_call(i, 0))
				return (int)i;
	return -1;
}

/* Another call loses its words. */
static int hold_other(const struct kept_buckets *p)
{
	uint32_t n = __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % (2 * KEPT_WAYS);
	uint32_t i = p->at[n / KEPT_WAYS] + n % KEPT_WAYS;
	uint64_t key = key_at(i);

	return key != KEPT_BUSY && hold_call(i, key) ? (int)i : -1;
}

void kept_store(uint64_t sp, uint64_t tag, const uint64_t *words, uint32_t n)
{
	const struct kept_buckets p = buckets_of(sp, tag & 0xffff);
	int i = hold_own(&p, sp, tag);

	if (i < 0)
		i = hold_empty(&p);
	if (i < 0)
		i = hold_other(&p);
	if (i < 0)
		return;
	calls[i].tag = tag;
	for (uint32_t k = 0; k < n && k < FETCH_ENTRY_WORDS; k++)
		/* Volatile, else the compiler makes this loop a call of memcpy. */
		((volatile uint64_t *)calls[i].words)[k] = words[k];
	release_call((uint32_t)i, sp);
}

bool kept_take(uint64_t sp, uint64_t tag, uint64_t words[FETCH_ENTRY_WORDS])
{
	const struct kept_buckets p = buckets_of(sp, tag & 0xffff);
	int i = hold_own(&p, sp, tag);
	bool is = i >= 0 && calls[i].tag == tag;

	if (i < 0)
		return false;
	for (uint32_t k = 0; k < FETCH_ENTRY_WORDS; k++)
		((volatile uint64_t *)words)[k] = calls[i].words[k];
	release_call((uint32_t)i, 0);
	return is;
}
