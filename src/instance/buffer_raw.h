/* SPDX-License-Identifier: MIT */
/* The other way to read a buffer: trace_pipe_raw, records as ftrace's ring buffer has them. What is read by one CPU's
 * file is taken out of the buffer for all of them: the others' records are kept as their pages, up to the size that
 * buffer_size_kb gives a CPU. */
#pragma once
#include <pthread.h>

#include "instance/addresses.h"
#include "instance/order.h"
#include "trace/tracks.h"

struct buffer;
struct ring_counts;

struct raw_cpu {
	uint64_t gone;           /* of those without room in the ring, so many are told */
	struct order order;
	struct pages pages;
};

struct buffer_raw {
	pthread_mutex_t lock;
	bool open;               /* sites and tracks are */
	struct sites sites;
	struct tracks tracks;    /* of the threads, from record to record */
	VEC(struct raw_cpu) cpus;
	VEC(uint16_t) ids;       /* by an event's index; 0: not looked up yet */
};

void buffer_raw_init(struct buffer_raw *r);
void buffer_raw_clear(struct buffer_raw *r); /* of what was taken and is not read */
void buffer_raw_clear_cpu(struct buffer_raw *r, unsigned cpu);
void buffer_raw_free(struct buffer_raw *r);

/* What is in the buffer becomes pages, as far as it was made up to this time; nothing older may come any more. */
void buffer_raw_fill(struct buffer *b, struct trace_info *info, struct addresses *a, uint64_t until_tsc);
/* The CPU's next page; unfinished, or if buffer_percent is 0: also one with room. False: there is none. One that was begun
 * 100 ms ago is finished. */
bool buffer_raw_take(struct buffer *b, unsigned cpu, bool unfinished, void *page);
/* Whether so much of the CPU's share is full as buffer_percent says; 0: whether there is anything. */
bool buffer_raw_is_filled(struct buffer *b, unsigned cpu);
bool buffer_raw_is_pending(struct buffer *b);                /* whether there is anything for any CPU, now or soon */
/* Adds what is here, and was. *oldest_ns: of the first record; as it was if there is none. */
void buffer_raw_count(struct buffer *b, unsigned cpu, struct ring_counts *counts, uint64_t *oldest_ns);
