/* SPDX-License-Identifier: MIT */
/* The layout is the kernel's linux/ring_buffer.h, unchanged since 2.6.30 but for the absolute time
 * stamps (4.16). Called by rings.c for each page, and by the fuzz target. Any thread; no state but
 * the caller's. A page that ends within a record is marked as bad. */
#include "kernel/pages.h"

#include <string.h>

/* The header's second word: the bytes of records, and what is missing before them. */
#define COMMIT_BYTES 0xfffffu
#define COMMIT_MISSED (UINT64_C(1) << 31)
#define COMMIT_MISSED_STORED (UINT64_C(1) << 30) /* their number follows the records */

/* The lower 5 bits of a record's first word; above them is the time since the record before. Up to
 * 28, it is the length of the data in words; 0: the next word has the length. */
#define KIND_BITS 5u
enum { KIND_LONG = 0, KIND_PADDING = 29, KIND_EXTEND = 30, KIND_STAMP = 31 };
#define DELTA_BITS 27u
#define STAMP_BITS 59u

/* A page's first word is the time from which the deltas of its records count; the second says how
 * many bytes are records. Behind them stands nothing but the number of missing records, if the
 * kernel had room for it there. */
void kernel_page_begin(struct kernel_page *p, const void *bytes, size_t n)
{
	struct cursor all = cursor_of(bytes, n);
	uint64_t tsc = cursor_u64(&all), commit = cursor_u64(&all);
	const void *data = cursor_bytes(&all, commit & COMMIT_BYTES);

	*p = (struct kernel_page){ .tsc = tsc, .bad = all.bad };
	p->at = cursor_of(data ? data : bytes, data ? commit & COMMIT_BYTES : 0);
	p->records = p->at.at;
	if (!data || !(commit & COMMIT_MISSED))
		return;
	p->lost = commit & COMMIT_MISSED_STORED ? cursor_u64(&all) : KERNEL_PAGE_LOST_UNKNOWN;
	if (all.bad)
		p->lost = KERNEL_PAGE_LOST_UNKNOWN;
}

/* The 59 bits of an absolute stamp, with the upper ones of the time before. A TSC of 59 bits
 * lasts for six years at 3 GHz, so that the upper ones are those of the time before, or one
 * more. */
static uint64_t whole_stamp(uint64_t before, uint64_t stamp)
{
	uint64_t upper = before >> STAMP_BITS << STAMP_BITS;

	if (!upper)
		return stamp;
	stamp |= upper;
	return stamp < before ? stamp + (UINT64_C(1) << STAMP_BITS) : stamp;
}

/* Moves past padding. A null one fills the rest of the page. One with a length stands for a
 * record that was reserved and discarded, as by an event's filter. Its own delta is not added, as
 * in the kernel's rb_update_read_stamp(). */
static void skip_padding(struct kernel_page *p, uint32_t delta)
{
	uint32_t n;

	if (!delta) {
		p->at.at = p->at.end;
		return;
	}
	n = cursor_u32(&p->at);
	if (n < sizeof(n))
		p->at.bad = true;
	else
		cursor_bytes(&p->at, n - sizeof(n));
}

/* The word's data, whose length is in it or behind it. False with p->at.bad set, which ends the
 * page: behind a length that leads out of it nothing can be found any more. */
static bool take_data(struct kernel_page *p, uint32_t kind, uint32_t delta,
		      struct kernel_page_record *out)
{
	uint32_t n = 4 * kind;

	if (kind == KIND_LONG) {
		n = cursor_u32(&p->at);
		if (n < sizeof(n))
			p->at.bad = true;
		n -= (uint32_t)sizeof(n);
	}
	p->tsc += delta;
	out->tsc = p->tsc;
	out->n = n;
	out->data = p->at.bad ? NULL : cursor_bytes(&p->at, n);
	return out->data != NULL;
}

bool kernel_page_next(struct kernel_page *p, struct kernel_page_record *out)
{
	while (cursor_left(&p->at) && !p->at.bad) {
		uint32_t word = cursor_u32(&p->at), kind = word & ((1u << KIND_BITS) - 1);
		uint32_t delta = word >> KIND_BITS;

		if (kind == KIND_PADDING) {
			skip_padding(p, delta);
		} else if (kind == KIND_EXTEND) {
			p->tsc += delta + ((uint64_t)cursor_u32(&p->at) << DELTA_BITS);
		} else if (kind == KIND_STAMP) {
			p->tsc = whole_stamp(p->tsc, delta + ((uint64_t)cursor_u32(&p->at)
							      << DELTA_BITS));
		} else if (take_data(p, kind, delta, out)) {
			return true;
		}
	}
	p->bad |= p->at.bad;
	return false;
}

/* The loss before this page was told when its beginning was taken. */
void kernel_page_skip(struct kernel_page *p, size_t from)
{
	struct kernel_page_record record;

	if (!from)
		return;
	p->lost = 0;
	while ((size_t)(p->at.at - p->records) < from && kernel_page_next(p, &record))
		;
}

/* The page is a copy of one that the kernel goes on to fill: its head is to say what was copied. */
void kernel_page_cut(uint8_t *page, uint32_t n, bool lost)
{
	uint64_t commit;

	memcpy(&commit, page + sizeof(commit), sizeof(commit));
	commit = n | (lost ? commit & (COMMIT_MISSED | COMMIT_MISSED_STORED) : 0);
	memcpy(page + sizeof(commit), &commit, sizeof(commit));
}

/* --- pages that are made here ------------------------------------------------------------- */

static void put_bytes(struct kernel_made_page *p, const void *bytes, size_t n)
{
	vec_reserve(&p->bytes, p->bytes.n + n);
	memcpy(p->bytes.at + p->bytes.n, bytes, n);
	p->bytes.n += n;
}

static void put_word(struct kernel_made_page *p, uint32_t kind, uint32_t above)
{
	const uint32_t word = kind | above << KIND_BITS;

	put_bytes(p, &word, sizeof(word));
}

/* The deltas count from the page's stamp, the first record's. A long record's length counts its own
 * word. */
void kernel_made_add(struct kernel_made_page *p, uint64_t tsc, const void *data, uint32_t n)
{
	const uint64_t head[2] = { tsc, 0 };
	const uint32_t length = n + 4;
	uint64_t delta;

	if (!p->bytes.n) {
		put_bytes(p, head, sizeof(head));
		p->tsc = tsc;
	}
	delta = tsc > p->tsc ? tsc - p->tsc : 0;
	p->tsc += delta;
	if (delta >> DELTA_BITS) {
		const uint32_t upper = (uint32_t)(delta >> DELTA_BITS);

		put_word(p, KIND_EXTEND, (uint32_t)delta & ((1u << DELTA_BITS) - 1));
		put_bytes(p, &upper, sizeof(upper));
		delta = 0;
	}
	put_word(p, KIND_LONG, (uint32_t)delta);
	put_bytes(p, &length, sizeof(length));
	put_bytes(p, data, n);
}

void kernel_made_end(struct kernel_made_page *p, uint64_t lost)
{
	uint64_t commit;

	if (!p->bytes.n)
		put_bytes(p, (const uint64_t[2]){ p->tsc, 0 }, KERNEL_PAGE_HEADER);
	commit = p->bytes.n - KERNEL_PAGE_HEADER;
	if (lost) {
		commit |= COMMIT_MISSED | COMMIT_MISSED_STORED;
		put_bytes(p, &lost, sizeof(lost));
	}
	memcpy(p->bytes.at + sizeof(commit), &commit, sizeof(commit));
}
