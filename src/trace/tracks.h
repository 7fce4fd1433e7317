/* SPDX-License-Identifier: MIT */
/* All threads' events into calls, each stack a track of its own: a thread's, or a coroutine's,
 * which any thread of the process may run (docs/nesting.md).
 *
 * A call that may leave its stack says where that was (EVENT_SWITCH), and the thread's next event
 * where that is (EVENT_AT). Then:
 *   - it is the exit that belongs to a call which left: that one's track goes on;
 *   - it is where a setjmp had marked: its track goes on, and what it had called since is cut off;
 *   - an unwinder stays on its track; the calls it leaves it has told one by one;
 *   - it is higher on the same stack, in a call by a function that is open there: the same;
 *   - else it is a stack not seen before: a new track. */
#pragma once
#include "trace/calls.h"
#include "trace/sp_map.h"

struct track {
	struct calls calls;
	uint64_t sp;        /* where it left, or may leave now; 0 = nowhere yet */
	uint64_t base;      /* the first one seen: nothing is above; 0 = not known */
	size_t left;        /* the call by which it left is this one; if not followed, would be */
	uint32_t fn;        /* that call's function */
	uint8_t flags;      /* EVENT_* of it */
	uint32_t runner;    /* the thread on it, or NO_THREAD; it may have left, and not said so yet */
	uint32_t lanes;     /* threads that are on it, or were and have not said where they are now */
	bool over;          /* not to be gone on with */
	uint32_t home;      /* the thread whose own stack it is, or NO_THREAD */
};
#define NO_THREAD UINT32_MAX

struct stack_mark { uint32_t track; size_t depth; uint64_t begin; };

/* An address space. */
struct process {
	uint32_t pid, image;
	VEC(struct track *) tracks;  /* NULL: ended */
	VEC(struct stack_mark) marks;
	struct sp_map left;          /* sp -> track that left there */
	struct sp_map bases;         /* base -> coroutine */
	struct sp_map marked;        /* sp -> index in marks */
	VEC(uint32_t) leavers;       /* functions that have left a stack */
	uint32_t coroutines;         /* numbers given out */
};

/* What a thread does. */
struct lane {
	struct process *process; /* NULL: nothing yet */
	struct track *now;
	uint32_t thread;
	struct sleeps *sleeps;   /* NULL: none */
	uint32_t index;          /* of now in process->tracks */
	bool leaving;            /* a SWITCH, and no AT since */
	bool unwinding;
	bool told;               /* `at` is the next event's */
	uint64_t at, target;
	uint32_t at_site, last_fn;
};

struct tracks {
	const struct trace_info *info;
	struct sites *sites;
	VEC(struct process *) processes;
	uint32_t first_thread;
	VEC(struct lane) lanes;      /* by thread, from the first on */
	uint64_t strays;             /* exits of calls whose track was not found: another thread's, perhaps */
	struct calls_counts ended;   /* of tracks that are no more */
};

/* sites: must outlive it. */
void tracks_init(struct tracks *t, const struct trace_info *info, struct sites *sites);
/* To be fed with one thread's events alone, whose lane this is. */
struct lane *tracks_init_one(struct tracks *t, const struct trace_info *info, struct sites *sites, uint32_t thread);
void tracks_free(struct tracks *t);
/* The end of the trace for all tracks there are. */
void tracks_end(struct tracks *t, const struct event *at, calls_emit *emit, void *arg);
struct calls_counts tracks_counts(const struct tracks *t);
uint32_t tracks_coroutines(const struct tracks *t); /* seen in all */

/* The thread's; made if need be. Stays where it is until another thread's is asked for. */
struct lane *tracks_lane(struct tracks *t, uint32_t thread);
void tracks_feed_slow(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit, void *arg);

/* One event of the lane's thread: emits the steps it makes, in order. */
static inline __attribute__((always_inline)) void tracks_feed(struct tracks *t, struct lane *l, const struct event *e,
							       calls_emit *emit, void *arg)
{
	if (__builtin_expect(l->told || e->kind > EVENT_EXIT, 0))
		tracks_feed_slow(t, l, e, emit, arg);
	else
		calls_feed(&l->now->calls, e, emit, arg);
}
