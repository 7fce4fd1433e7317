/* SPDX-License-Identifier: MIT */
#include "instance/page.h"

#include <string.h>

/* A record's header: its length in words, or one of these, in 5 bits; the time since the record before it, in ns. */
#define TYPE_WORDS_MAX 28u
#define TYPE_TIME_EXTEND 30u
#define TYPE_BITS 5
#define DELTA_BITS 27
#define DELTA_MAX (UINT64_C(1) << DELTA_BITS)      /* a longer one takes a TIME_EXTEND with 32 bits more */
#define EXTENDED_MAX (UINT64_C(1) << (DELTA_BITS + 32))
/* Of the header's second word. */
#define MISSED_EVENTS (~UINT64_C(0) << 31)         /* records are missing before the page: an int of the kernel's */
#define MISSED_STORED (UINT64_C(1) << 30)          /* how many stands behind the last one */

static void put32(struct page *p, uint32_t v)
{
	memcpy(p->bytes + PAGE_HEADER + p->used, &v, sizeof(v));
	p->used += sizeof(v);
}

static void put_header(struct page *p, uint32_t type, uint64_t delta)
{
	put32(p, type | (uint32_t)delta << TYPE_BITS);
}

/* --- the queue ---------------------------------------------------------------------- */

/* There is another one behind it. */
static void drop_oldest(struct pages *p)
{
	struct page *page = &p->full.at[p->first++];

	p->overrun += page->records;
	p->records -= page->records;
	p->full.at[p->first].missed += page->missed + page->records;
	free(page->bytes);
}

/* The queue's dead end is given up when it is the longer part. */
static void close_up(struct pages *p)
{
	if (p->first < 64 || p->first < p->full.n / 2)
		return;
	memmove(p->full.at, p->full.at + p->first, (p->full.n - p->first) * sizeof(p->full.at[0]));
	p->full.n -= p->first;
	p->first = 0;
}

static void finish(struct pages *p)
{
	if (!p->now.bytes)
		return;
	*vec_add(&p->full) = p->now;
	p->now = (struct page){ 0 };
	while (p->limit && (p->full.n - p->first) * (uint64_t)PAGE_BYTES > p->limit && p->full.n - p->first > 1)
		drop_oldest(p);
	close_up(p);
}

static void begin(struct pages *p, uint64_t ns)
{
	p->now = (struct page){ .bytes = mem_zalloc(PAGE_BYTES), .missed = p->missed, .first_ns = ns };
	memcpy(p->now.bytes, &ns, sizeof(ns));
	p->missed = 0;
	p->last_ns = ns;
}

/* --- records ------------------------------------------------------------------------ */

/* The number of missing ones gets its place, if there are some. */
static bool fits(const struct pages *p, size_t bytes)
{
	return PAGE_HEADER + p->now.used + bytes + sizeof(uint64_t) <= PAGE_BYTES;
}

void pages_add(struct pages *p, uint64_t ns, const void *record, size_t n)
{
	uint64_t delta;
	size_t bytes = 4 + n + (n > 4 * TYPE_WORDS_MAX ? 4 : 0);

	if (!n || n > PAGE_RECORD_MAX)
		return;
	if (p->now.bytes && ns < p->last_ns)
		ns = p->last_ns;
	delta = p->now.bytes ? ns - p->last_ns : 0;
	if (!p->now.bytes || p->missed || delta >= EXTENDED_MAX || !fits(p, bytes + (delta >= DELTA_MAX ? 8 : 0))) {
		finish(p);
		begin(p, ns);
		delta = 0;
	}
	if (delta >= DELTA_MAX) {
		put_header(&p->now, TYPE_TIME_EXTEND, delta & (DELTA_MAX - 1));
		put32(&p->now, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	put_header(&p->now, n > 4 * TYPE_WORDS_MAX ? 0 : (uint32_t)(n / 4), delta);
	if (n > 4 * TYPE_WORDS_MAX)
		put32(&p->now, (uint32_t)n + 4);
	memcpy(p->now.bytes + PAGE_HEADER + p->now.used, record, n);
	p->now.used += (uint32_t)n;
	p->now.records++;
	p->records++;
	p->last_ns = ns;
}

void pages_miss(struct pages *p, uint64_t n)
{
	p->missed += n;
}

/* --- reading ------------------------------------------------------------------------ */

/* What is missing is known by now: pages before it may have gone since it was begun. */
static void seal(const struct page *p)
{
	uint64_t commit = p->used;

	if (p->missed) {
		memcpy(p->bytes + PAGE_HEADER + p->used, &p->missed, sizeof(p->missed));
		commit |= MISSED_EVENTS | MISSED_STORED;
	}
	memcpy(p->bytes + sizeof(uint64_t), &commit, sizeof(commit));
}

bool pages_take(struct pages *p, bool unfinished, void *to)
{
	struct page *page;

	if (unfinished && p->first == p->full.n)
		finish(p);
	if (p->first == p->full.n)
		return false;
	page = &p->full.at[p->first++];
	seal(page);
	memcpy(to, page->bytes, PAGE_BYTES);
	free(page->bytes);
	p->records -= page->records;
	p->read += page->records;
	close_up(p);
	return true;
}

bool pages_oldest(const struct pages *p, uint64_t *ns)
{
	const struct page *page = p->first < p->full.n ? &p->full.at[p->first] : &p->now;

	*ns = page->first_ns;
	return page->bytes;
}

uint64_t pages_full_bytes(const struct pages *p)
{
	return (p->full.n - p->first) * (uint64_t)PAGE_BYTES;
}

uint64_t pages_bytes(const struct pages *p)
{
	uint64_t bytes = p->now.used;

	for (size_t i = p->first; i < p->full.n; i++)
		bytes += p->full.at[i].used;
	return bytes;
}

void pages_clear(struct pages *p)
{
	for (size_t i = p->first; i < p->full.n; i++)
		free(p->full.at[i].bytes);
	vec_free(&p->full);
	free(p->now.bytes);
	*p = (struct pages){ .limit = p->limit };
}

void pages_free(struct pages *p)
{
	pages_clear(p);
}
