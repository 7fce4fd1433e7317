/* SPDX-License-Identifier: MIT */
/* One worker's sums for `report`, by function. It is fed with whole threads, one after another, and
 * merged with the other workers' at the end. Times are in ticks. Nothing is shared. */
#pragma once
#include "trace/tracks.h"
#include "trace/unpack.h"
#include "base/histogram.h"
#include "report/thread_counters.h"

struct tally_function {
	uint32_t image, fn;
	uint64_t untimed; /* calls whose end is not followed */
	uint64_t timed;   /* all other calls; the sums below are over these */
	uint64_t total;   /* calls on a stack where it is open already are not counted again */
	uint64_t self;
	uint64_t sum;     /* of all durations */
	uint64_t min, max;
	/* of `total`: in the kernel, and blocked (kernel_times.h) */
	uint64_t kernel, blocked;
	struct thread_count count; /* of `total` (thread_counters.h) */
	struct histogram durations;
};

struct tally_slot {
	uint32_t index;   /* 1 + index into functions; 0: none yet */
	/* open calls of it on the own stack of the thread being fed, to recognize recursion */
	uint32_t active;
};

struct tally_map {
	struct tally_slot *slot; /* by function id */
	size_t n;
	struct tally_slot unknown; /* for all ids that nothing defines, as function FN_NONE */
};

/* Calls that ended and are not added up yet. Programs call thousands of functions in no order, so a
 * function's sums are rarely in the cache. They are prefetched when its call ends. They have
 * arrived when the call is added up, some calls later. */
#define TALLY_QUEUE 32
struct tally_ended { uint32_t index; bool outermost; uint64_t ticks, self; };

/* The calls that are open where reading of a thread begins in its middle. */
struct tally_open { VEC(struct call_frame) calls; };

/* One of these calls that has ended: what is known of it without the part before. */
struct tally_lent { uint32_t index; uint64_t ticks, inside; };

struct tally_span { uint64_t begin, ticks; uint32_t fn; };

struct tally {
	const struct trace_info *info;
	struct sites sites;
	VEC(struct tally_map) maps;              /* by image */
	VEC(struct tally_function) functions;
	struct histogram_pool pool;              /* the pool of their histograms */
	struct calls_counts counts;
	VEC(uint64_t) events;                    /* by index */
	const struct kernel_times *kernel; /* or NULL */
	const struct thread_counters *counters; /* or NULL */
	bool switches;         /* the thread may have left a stack by a call */
	bool groups;           /* ids are not functions', but numbers of an input's own */
	bool cut;              /* spans were fed: shorter calls are missing, and self times are 0 */
	bool coroutines;       /* the thread being fed made calls on a stack that is not its own */
	/* The thread being fed: */
	struct tracks tracks;
	struct lane *lane;
	struct tally_map *map;
	/* As tally_slot.active of coroutines' stacks: track << 32 | function's index -> calls */
	struct number_map active;
	uint32_t image;
	struct event last;
	struct tally_ended queue[TALLY_QUEUE]; /* number i is at i % TALLY_QUEUE */
	uint64_t ended;
	VEC(struct tally_span) spans;
	/* Calls of its tally_open that are open still; those that are not, innermost first */
	uint32_t lent_open;
	VEC(struct tally_lent) lent;
};

/* info must outlive *t, and must not change. */
void tally_init(struct tally *t, const struct trace_info *info);
void tally_free(struct tally *t);

/* Begins a thread's events. Follow with tally_events and tally_end. */
void tally_begin(struct tally *t, uint32_t thread);
/* The thread's next n events. */
void tally_events(struct tally *t, const struct event *events, size_t n);
/* tally_events() for all records of *u, a thread's own without copies of stacks and arguments: no
 * event is made of an entry or a return that needs none. */
void tally_words(struct tally *t, struct unpack *u);
/* Ends the thread. Calls that are open lasted until its last record. */
void tally_end(struct tally *t);

/* For a worker that begins in the middle of a thread: notes in *open the calls that the events so
 * far left open. tally_open_free() frees it. */
void tally_lend(struct tally *t, struct tally_open *open);
void tally_open_free(struct tally_open *open);
/* Whether the thread, of which `t` was fed the part before, stands where `open`, which the n events
 * of `start` made, took it to be; and nothing else of that part concerns later events. */
bool tally_ends_with(const struct tally *t, const struct tally_open *open,
		     const struct event *start, size_t n);
/* Puts own times of lent calls right by what the part before knows of them. */
void tally_settle(struct tally *t, const struct tally *before);
/* Ends a part of a thread behind which another tally goes on: instead of tally_end(). */
void tally_stop(struct tally *t);

/* Adds the sums of one function. */
void tally_merge(struct tally_function *into, const struct tally_function *from);
