/* SPDX-License-Identifier: MIT */
/* Chunks of several threads as one stream of events by time. */
#pragma once
#include "instance/spans.h"
#include "instance/stream.h"

struct merge_filter {
	off_list off;
	bool one_cpu;
	uint16_t cpu;              /* only records of this one */
	uint64_t until;            /* of before this time; 0: all */
	gone_list gone;
};

/* Takes the list over (what is not settled stays unseen); the filter is copied. info: valid until close, and nobody changes it while
 * next() runs. A thread's events keep their order whatever their stamps. */
struct source *merge_chunks(struct trace_info *info, chunk_list *chunks, const struct merge_filter *filter);
