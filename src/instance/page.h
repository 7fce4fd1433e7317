/* SPDX-License-Identifier: MIT */
/* Records of one CPU in the form of ftrace's ring buffer: sub-buffers of 4,096 bytes, as
 * events/header_page and events/header_event describe them. Readers of trace_pipe_raw (trace-cmd,
 * libtracefs) take them unchanged. Not locked; struct buffer_raw's lock protects them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define PAGE_BYTES 4096u
#define PAGE_HEADER 16u      /* time of its first record, and number of bytes that follow */
#define PAGE_RECORD_MAX 1024u /* bytes of one record */

struct page {
	uint8_t *bytes;      /* PAGE_BYTES */
	uint32_t used;       /* bytes after the header */
	uint32_t records;
	uint64_t missed;     /* records lost before it */
	uint64_t first_ns;
};

struct pages {
	struct page now;     /* being filled; bytes NULL: none is */
	uint64_t last_ns;    /* of the last record in it */
	uint64_t missed;     /* before the record that comes next */
	VEC(struct page) full; /* a queue: from `first` on */
	size_t first;
	/* bytes in the queue, beyond which the oldest page is dropped; 0: none */
	uint64_t limit;
	uint64_t records;    /* in the queue and in the page being filled */
	uint64_t overrun;    /* records of pages that were dropped */
	uint64_t read;       /* records taken by pages_take */
};

/* Adds a record of n bytes, a multiple of 4, its common fields first. An ns before the last
 * record's becomes that: deltas cannot be negative. */
void pages_add(struct pages *p, uint64_t ns, const void *record, size_t n);
/* Notes that n records are missing between the last one and the next. */
void pages_miss(struct pages *p, uint64_t n);
/* Copies the oldest page into `to` (PAGE_BYTES, zeros where it is not used) and frees it.
 * unfinished: also a page that still has room. False: there is none. */
bool pages_take(struct pages *p, bool unfinished, void *to);
/* The time of the first record of the oldest page, or of the one being filled. False: there is
 * none. */
bool pages_oldest(const struct pages *p, uint64_t *ns);
uint64_t pages_full_bytes(const struct pages *p); /* bytes of whole pages */
uint64_t pages_bytes(const struct pages *p);      /* bytes used in all pages */
/* Drops all pages and counts; the limit stays. */
void pages_clear(struct pages *p);
void pages_free(struct pages *p);
