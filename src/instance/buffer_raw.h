/* SPDX-License-Identifier: MIT */
/* trace_pipe_raw: records as ftrace's ring buffer has them. A read of any CPU's file takes records
 * of all CPUs out of the buffer: those of the other CPUs are kept here as pages, up to the size
 * that buffer_size_kb gives a CPU. */
#pragma once
#include <pthread.h>

#include "instance/addresses.h"
#include "instance/reorder.h"
#include "trace/cpu_order.h"
#include "trace/tracks.h"

struct buffer;
struct ring_counts;

struct raw_cpu {
	/* records without room in the ring that have been reported as missing, in all */
	uint64_t gone;
	struct reorder reorder;
	struct pages pages;
};

struct buffer_raw {
	/* protects all that follows; b->lock is taken inside it */
	pthread_mutex_t lock;
	bool open;               /* sites and tracks are */
	struct sites sites;
	struct tracks tracks;    /* calls of each thread, carried from one fill to the next */
	VEC(struct raw_cpu) cpus;
	struct cpu_order order;  /* of each thread's records over the CPUs */
	VEC(uint16_t) ids;       /* ID of an event's format, by its index; 0: not looked up yet */
};

/* Begins with no CPUs. Cannot fail. */
void buffer_raw_init(struct buffer_raw *r);
void buffer_raw_clear(struct buffer_raw *r); /* drops records that were taken and not read */
/* Drops what one CPU has in its pages and its queue. */
void buffer_raw_clear_cpu(struct buffer_raw *r, unsigned cpu);
void buffer_raw_free(struct buffer_raw *r);

/* Turns the buffer's records up to the time until_tsc into pages: a TSC, put right where it is not
 * steady (clock_shown()). No older record may arrive later. Needs pump_lock. */
void buffer_raw_fill(struct buffer *b, struct trace_info *info, struct addresses *a,
		     uint64_t until_tsc);
/* Copies the CPU's next page (PAGE_BYTES). `unfinished`, or buffer_percent 0: also a page that
 * still has room. False: there is none. A page whose first record is 100 ms old counts as
 * finished. */
bool buffer_raw_take(struct buffer *b, unsigned cpu, bool unfinished, void *page);
/* Whether the CPU has filled its share of the buffer to buffer_percent; with 0: whether it has any
 * record. */
bool buffer_raw_is_filled(struct buffer *b, unsigned cpu);
/* Whether any CPU has records here, ready or queued. */
bool buffer_raw_is_pending(struct buffer *b);
/* buffer_raw_take of the snapshot, whose records become pages when a CPU's are first asked for.
 * Records that were read of a CPU are no longer shown. Needs pump_lock. */
bool buffer_snapshot_raw_take(struct buffer *b, struct trace_info *info, struct addresses *a,
			      unsigned cpu, void *page);
bool buffer_snapshot_raw_is_filled(struct buffer *b, struct trace_info *info, struct addresses *a,
				   unsigned cpu);
/* buffer_raw_clear for a caller that has r->lock. */
void buffer_raw_drop(struct buffer_raw *r);
/* Adds the records here to *counts. *oldest_ns: the time of the oldest, unchanged if there is
 * none. */
void buffer_raw_count(struct buffer *b, unsigned cpu, struct ring_counts *counts,
		      uint64_t *oldest_ns);
