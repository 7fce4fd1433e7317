/* SPDX-License-Identifier: MIT */
/* A page of the kernel's ring buffer, as trace_pipe_raw gives it: a header, then records with the
 * time since the one before. The bytes may be anything (a fuzz target reads them): nothing outside
 * of them is read. */
#pragma once
#include "base/cursor.h"

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
