/* SPDX-License-Identifier: MIT */
/* Sorts the records of one CPU by time. A pass over the programs' buffers takes one thread after the other, so that a thread's newest
 * records can be younger than what the next pass finds of another thread: records wait here until no older ones can come. */
#pragma once
#include "instance/page.h"

struct order_record {
	uint64_t ns;
	uint64_t missed;     /* number of records lost here; 0: this is a record */
	size_t at;           /* in bytes */
	uint32_t n;
};

struct order {
	VEC(struct order_record) records; /* by time; a queue: from `first` on */
	size_t first;
	VEC(uint8_t) bytes;
};

void order_add(struct order *o, uint64_t ns, const void *record, size_t n);
void order_miss(struct order *o, uint64_t ns, uint64_t n);
/* Moves the records made up to until_ns into `to`, in order. */
void order_release(struct order *o, uint64_t until_ns, struct pages *to);
bool order_is_empty(const struct order *o);
void order_free(struct order *o);
