/* SPDX-License-Identifier: MIT */
/* From the events of a trace to those of an excerpt. One for each reading; used by one thread. */
#pragma once
#include "excerpt/call_bits.h"
#include "excerpt/internal.h"
#include "trace/stack_numbers.h"
#include "trace/tracks.h"

/* An open call. */
struct extract_frame {
	uint64_t begin;
	uint64_t inside;    /* ticks of the nearest calls above it that are chosen */
	uint64_t number;    /* of the thread's calls */
	uint32_t fn, thread, site, track;
	uint32_t depth;     /* open calls below it that are chosen */
	uint16_t cpu;
	uint8_t flags;      /* enum call_flag */
	bool chosen, in_graph;
	bool leads;         /* it has called a function whose callers are asked for */
};
typedef VEC(struct extract_frame) extract_stack;

/* An event that waits to be given out, and its step. */
struct excerpt_waiting { struct event event; struct call_step step; };

struct excerpt_reading {
	struct excerpt *x;
	bool looks;         /* a first reading: it finds out bits and gives nothing out */
	struct call_bits bits;
	struct sites sites;
	struct tracks tracks;
	struct lane *lane;  /* of the only thread; NULL: there are several */
	struct stack_numbers numbers;
	VEC(extract_stack) stacks;  /* by number */
	VEC(uint64_t) calls;        /* by thread: those that have begun */
	VEC(uint64_t) ends;         /* by thread: its last event; of several threads */
	struct event now, last;     /* `now` is being taken; `last`: the last one in time */
	struct event place;         /* `waits`: of the call that comes next (waits_for_call()) */
	bool waits;
	bool begun, over, full;     /* full: more calls than there are bits */
	bool ending;                /* calls that are open get their ends */
	VEC(struct excerpt_waiting) out;
	size_t next;
	uint64_t given, left[LEFT_REASONS_N];
};

/* Begins a reading of all threads, or of one (`thread`, else NO_THREAD). `bits`: of a first
 * reading, which it takes over; NULL: there was none. */
void extract_begin(struct excerpt_reading *e, struct excerpt *x, uint32_t thread, bool looks,
		   struct call_bits *bits);
/* Takes an event. False: the excerpt is over, or -full- nothing more can be kept. */
bool extract_take(struct excerpt_reading *e, const struct event *event);
/* Ends the reading: calls that are open. */
void extract_end(struct excerpt_reading *e);
/* The next event that waits, valid until extract_take(); false: there is none. */
bool extract_give(struct excerpt_reading *e, struct event *out);
/* Says what extract.full is. Returns -EFBIG. */
int extract_too_many(struct err *err);
/* Adds the counts to the excerpt's, and frees everything. */
void extract_free(struct excerpt_reading *e);
