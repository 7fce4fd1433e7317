/* SPDX-License-Identifier: MIT */
/* Sorts the records of one CPU by time. A pass over the programs' buffers takes one thread after
 * the other, so that a thread's newest records can be younger than what the next pass finds of
 * another thread: records wait here until no older ones can come. Not locked; struct buffer_raw's
 * lock protects it. */
#pragma once
#include "instance/page.h"

/* A record, or a number of lost ones, and its time. */
struct reorder_record {
	uint64_t ns;
	uint64_t missed;     /* number of records lost here; 0: this is a record */
	size_t at;           /* offset in `bytes` */
	uint32_t n;
};

struct reorder {
	VEC(struct reorder_record) records; /* by time; a queue: from `first` on */
	size_t first;
	VEC(uint8_t) bytes;
};

/* Queues a record of n bytes, a copy, or the loss of n records at a time. */
void reorder_add(struct reorder *o, uint64_t ns, const void *record, size_t n);
void reorder_miss(struct reorder *o, uint64_t ns, uint64_t n);
/* Moves the records made up to until_ns into `to`, in order of time. */
void reorder_release(struct reorder *o, uint64_t until_ns, struct pages *to);
bool reorder_is_empty(const struct reorder *o);
/* Drops everything; *o can be used again. */
void reorder_free(struct reorder *o);
