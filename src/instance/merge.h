/* SPDX-License-Identifier: MIT */
/* Chunks of several threads as one stream of events by time. */
#pragma once
#include "instance/off_periods.h"
#include "instance/stream.h"

/* Selects the events of the chunks that a reader is to see. Periods and times are the counter's, so
 * that stamps are compared with them, not the times that the clock makes of these. */
struct merge_filter {
	off_periods off;
	bool one_cpu;
	uint16_t cpu;              /* with one_cpu: only its records */
	uint64_t until;            /* only records before this time, as they are given; 0: all */
	uint64_t before;           /* only records stamped before this TSC; 0: all */
	discard_times gone;
	const struct clock *clock; /* puts times right (clock_place()); NULL: they stay */
};

/* Returns a source of the chunks' events. It takes over the list and copies the filter; unresolved
 * chunks are not shown. info must stay valid until close and unchanged while next() runs. A
 * thread's events keep their order whatever their time stamps. The caller closes the source; next()
 * never fails. */
struct source *merge_chunks(struct trace_info *info, chunk_list *chunks,
			    const struct merge_filter *filter);
/* Adds later chunks of the threads to such a source, taking over the list, and moves the filter's
 * `until`, which only grows. next() then goes on where it had none. */
void merge_more(struct source *source, chunk_list *chunks, uint64_t until);
