/* SPDX-License-Identifier: MIT */
/* Records of one CPU as ftrace's ring buffer has them: sub-buffers of 4,096 bytes, as events/header_page and
 * events/header_event describe them. Whoever reads trace_pipe_raw (trace-cmd, libtracefs) takes them as they are. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define PAGE_BYTES 4096u
#define PAGE_HEADER 16u      /* the time of its first record, and how many bytes follow */
#define PAGE_RECORD_MAX 1024u /* bytes of one record */

struct page {
	uint8_t *bytes;      /* PAGE_BYTES */
	uint32_t used;       /* of them after the header */
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
	uint64_t limit;      /* bytes in it: more, and the oldest goes; 0: none */
	uint64_t records;    /* in it, and in the page being filled */
	uint64_t overrun;    /* gone with pages that went */
	uint64_t read;       /* taken */
};

/* One record, its common fields first; n is a multiple of 4. A time before the last one's becomes that. */
void pages_add(struct pages *p, uint64_t ns, const void *record, size_t n);
/* So many records are missing between the last one and the next. */
void pages_miss(struct pages *p, uint64_t n);
/* The oldest page into `to` (PAGE_BYTES, zeros where it is not used); unfinished: also one that has room. False:
 * there is none. */
bool pages_take(struct pages *p, bool unfinished, void *to);
/* The first record of the oldest page, or of the one being filled. False: there is none. */
bool pages_oldest(const struct pages *p, uint64_t *ns);
uint64_t pages_full_bytes(const struct pages *p); /* of whole pages */
uint64_t pages_bytes(const struct pages *p);      /* of what is used */
/* All there is, and the counts; the limit stays. */
void pages_clear(struct pages *p);
void pages_free(struct pages *p);
