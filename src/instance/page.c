/* SPDX-License-Identifier: MIT */
/* Packs records into ftrace's sub-buffers: a header per record with the time since the one before
 * it, a page header with time and length. buffer_raw.c calls it under its lock. Allocation does not
 * fail (base/mem.h); a record that is empty or longer than PAGE_RECORD_MAX is dropped silently. */
#include "instance/page.h"

#include <string.h>

/* A record's header: in 5 bits its length in words, or one of these types; in 27 bits the ns since
 * the record before it. */
#define TYPE_WORDS_MAX 28u
#define TYPE_TIME_EXTEND 30u
#define TYPE_BITS 5
#define DELTA_BITS 27
/* a longer delta takes a TIME_EXTEND with 32 more bits */
#define DELTA_MAX (UINT64_C(1) << DELTA_BITS)
#define EXTENDED_MAX (UINT64_C(1) << (DELTA_BITS + 32))
/* Flags in the second word of the page header. */
/* records are missing before the page; the kernel's int is sign-extended */
#define MISSED_EVENTS (~UINT64_C(0) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)          /* their number stands behind the last record */

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

/* Drops the oldest page and counts its records as missing before the next page. The queue has a
 * second one. */
static void drop_oldest(struct pages *p)
{
	struct page *page = &p->full.at[p->first++];

	p->overrun += page->records;
	p->records -= page->records;
	p->full.at[p->first].missed += page->missed + page->records;
	free(page->bytes);
}

/* Moves the queue to the front when its dead part is the longer one (and at least 64 pages). */
static void compact_pages(struct pages *p)
{
	if (p->first < 64 || p->first < p->full.n / 2)
		return;
	memmove(p->full.at, p->full.at + p->first, (p->full.n - p->first) * sizeof(p->full.at[0]));
	p->full.n -= p->first;
	p->first = 0;
}

/* Appends the page being filled to the queue, and drops the oldest pages beyond the limit. One page
 * always stays. */
static void finish_page(struct pages *p)
{
	if (!p->now.bytes)
		return;
	*vec_add(&p->full) = p->now;
	p->now = (struct page){ 0 };
	while (p->limit && (p->full.n - p->first) * (uint64_t)PAGE_BYTES > p->limit &&
	       p->full.n - p->first > 1)
		drop_oldest(p);
	compact_pages(p);
}

static void begin_page(struct pages *p, uint64_t ns)
{
	p->now = (struct page){ .bytes = mem_zalloc(PAGE_BYTES),
				.missed = p->missed,
				.first_ns = ns };
	memcpy(p->now.bytes, &ns, sizeof(ns));
	p->missed = 0;
	p->last_ns = ns;
}

/* --- records ------------------------------------------------------------------------ */

/* Whether a record fits. The number of missing records always keeps its 8 bytes at the end: whether
 * it is needed is known only when the page is read (seal_page()). */
static bool page_fits(const struct pages *p, size_t bytes)
{
	return PAGE_HEADER + p->now.used + bytes + sizeof(uint64_t) <= PAGE_BYTES;
}

void pages_add(struct pages *p, uint64_t ns, const void *record, size_t n)
{
	uint64_t delta;
	/* A record longer than 28 words has its length in a word of its own. */
	size_t bytes = 4 + n + (n > 4 * TYPE_WORDS_MAX ? 4 : 0);

	if (!n || n > PAGE_RECORD_MAX)
		return;
	if (p->now.bytes && ns < p->last_ns)
		ns = p->last_ns;
	delta = p->now.bytes ? ns - p->last_ns : 0;
	/* Missing records are told at the beginning of a page only, so that a loss begins a new
	 * one. */
	if (!p->now.bytes || p->missed || delta >= EXTENDED_MAX ||
	    !page_fits(p, bytes + (delta >= DELTA_MAX ? 8 : 0))) {
		finish_page(p);
		begin_page(p, ns);
		delta = 0;
	}
	if (delta >= DELTA_MAX) {
		put_header(&p->now, TYPE_TIME_EXTEND, delta & (DELTA_MAX - 1));
		put32(&p->now, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	put_header(&p->now, n > 4 * TYPE_WORDS_MAX ? 0 : (uint32_t)(n / 4), delta);
	if (n > 4 * TYPE_WORDS_MAX)
		/* The length counts itself. */
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

/* Writes the page header's length and the number of records missing before it. It is done when the
 * page is read: pages before it may have been dropped since it was begun. */
static void seal_page(const struct page *p)
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
		finish_page(p);
	if (p->first == p->full.n)
		return false;
	page = &p->full.at[p->first++];
	seal_page(page);
	memcpy(to, page->bytes, PAGE_BYTES);
	free(page->bytes);
	p->records -= page->records;
	p->read += page->records;
	compact_pages(p);
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
