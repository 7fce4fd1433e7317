/* SPDX-License-Identifier: MIT */
/* A page of the kernel's ring buffer, as trace_pipe_raw gives it: a header, then records with the
 * time since the one before. The bytes may be anything (a fuzz target reads them): nothing outside
 * of them is read. */
#pragma once
#include "base/cursor.h"
#include "base/vec.h"

/* A record of a page; data stays the page's. */
struct kernel_page_record { uint64_t tsc; const uint8_t *data; uint32_t n; };

/* Before a page, an unknown number of records is missing. */
#define KERNEL_PAGE_LOST_UNKNOWN UINT64_MAX

/* Bytes before the records: a time stamp, and the bytes of the records with flags. */
#define KERNEL_PAGE_HEADER 16u

struct kernel_page {
	struct cursor at;
	const uint8_t *records; /* where they begin */
	uint64_t tsc;           /* of the record read last */
	uint64_t lost;          /* records missing before the page; or KERNEL_PAGE_LOST_UNKNOWN */
	bool bad;               /* it ends within a record, or is no page */
};

/* Begins to read n bytes, which must stay. A page without records has none, and is not bad. */
void kernel_page_begin(struct kernel_page *p, const void *bytes, size_t n);
/* True and *out, or false at the end (p->bad: before it should have come). */
bool kernel_page_next(struct kernel_page *p, struct kernel_page_record *out);
/* Leaves out the records that begin before this byte of the records, and what was lost before them:
 * they were read before. Called before the first kernel_page_next(). from 0 leaves out nothing. */
void kernel_page_skip(struct kernel_page *p, size_t from);
/* Makes a page, in place, of the first n bytes of its records; lost: it keeps what its header says
 * of missing ones. The page has n bytes behind its header. */
void kernel_page_cut(uint8_t *page, uint32_t n, bool lost);

/* A page that is made here, of records that came another way. */
struct kernel_made_page {
	VEC(uint8_t) bytes;
	uint64_t tsc;           /* of the last record */
};
/* Bytes of records after which a page is to be taken away; one more record fits, of any size that
 * perf has. */
#define KERNEL_MADE_FULL 0x80000u

/* Adds a record of n bytes, at most 65,536 and a multiple of 4. An older stamp than the last
 * record's becomes that one: a page has no way back. */
void kernel_made_add(struct kernel_made_page *p, uint64_t tsc, const void *data, uint32_t n);
/* Completes the page: `lost` records are missing before it. p->bytes are a page then, of p->bytes.n
 * bytes; the caller makes p->bytes.n 0 for the next one, and frees them at last. */
void kernel_made_end(struct kernel_made_page *p, uint64_t lost);
