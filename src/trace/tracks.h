/* SPDX-License-Identifier: MIT */
/* Turns all threads' events into calls. Each stack is a track of its own: a thread's, or a
 * coroutine's, which any thread of the process may run (docs/nesting.md).
 *
 * A call that may leave its stack says where that was (EVENT_SWITCH), and the thread's next event
 * says where it is now (EVENT_AT). Then one of these holds:
 *   - it is the exit that belongs to a call which left: that call's track goes on;
 *   - it is where a setjmp had marked: its track goes on, and what it had called since is cut off;
 *   - an unwinder runs: it stays on its track, and has named the calls it leaves one by one;
 *   - it is higher on the same stack, in a call by a function that is open there: as with setjmp;
 *   - otherwise it is a stack not seen before: a new track.
 *
 * Not locked: each reader has its own. */
#pragma once
#include "base/number_map.h"
#include "trace/calls.h"

struct track {
	struct calls calls;
	/* stack pointer where it was left, or may be left now; 0: nowhere yet */
	uint64_t sp;
	uint64_t base;      /* highest stack pointer seen, where it began; 0: not known */
	/* index of the call by which it was left, or would be if that call is not followed */
	size_t left;
	uint32_t fn;        /* that call's function */
	uint8_t flags;      /* EVENT_* of its EVENT_SWITCH */
	/* the thread that runs on it, or NO_THREAD; it may have left without a record yet */
	uint32_t running;
	uint32_t latest;    /* the thread that ran on it last */
	/* number of threads that are on it, or were and have not recorded where they are now */
	uint32_t lanes;
	bool over;          /* must not be resumed */
	uint32_t home;      /* the thread whose own stack it is, or NO_THREAD */
};
#define NO_THREAD UINT32_MAX

/* A setjmp's mark: the track, and how many calls were open; `begin` of the top one tells whether
 * they still are. */
struct stack_mark { uint32_t track; size_t depth; uint64_t begin; };

/* An address space with its stacks. */
struct process_tracks {
	uint32_t pid, image;
	uint32_t thread;             /* one of its threads */
	VEC(struct track *) tracks;  /* NULL: the track ended */
	VEC(struct stack_mark) marks;
	struct number_map left;      /* sp -> track that left there */
	struct number_map bases;     /* base -> coroutine that began there */
	struct number_map marked;    /* sp -> index in marks */
	VEC(uint32_t) leavers;       /* functions that have left a stack by a call */
	uint32_t coroutines;         /* number of coroutines so far */
};

/* A thread and the track that it is on. */
struct lane {
	struct process_tracks *process; /* NULL: no event came yet */
	struct track *now;
	uint32_t thread;
	struct sleeps *sleeps;   /* NULL: none */
	uint32_t index;          /* of now in process->tracks */
	bool leaving;            /* a SWITCH came, and no AT since */
	bool unwinding;
	bool told;               /* `at` is where the next event is */
	bool outermost;          /* of that event: EVENT_AT_OUTERMOST */
	uint64_t at, target;
	uint32_t at_site, last_fn;
};

struct tracks {
	const struct trace_info *info;
	struct sites *sites;
	VEC(struct process_tracks *) processes;
	uint32_t first_thread;
	VEC(struct lane) lanes;      /* by thread, from the first on */
	/* exits of calls whose track was not found, perhaps another thread's */
	uint64_t strays;
	struct calls_counts ended;   /* counts of tracks that have ended */
};

/* sites must outlive *t; info too, and it may grow. */
void tracks_init(struct tracks *t, const struct trace_info *info, struct sites *sites);
/* Prepares *t for the events of one thread alone, and returns its lane. */
struct lane *tracks_init_one(struct tracks *t, const struct trace_info *info, struct sites *sites,
			     uint32_t thread);
void tracks_free(struct tracks *t);
/* Ends the trace for all tracks: of the event, the time and the CPU count. */
void tracks_end(struct tracks *t, const struct event *at, calls_emit *emit, void *arg);
/* The thread whose last record ends the calls that are open on the track: its own one, or of a
 * coroutine the one that ran on it last. Readers that end tracks themselves ask it, so that all
 * tell the same duration. */
uint32_t track_thread(const struct track *k);
/* Sums over all tracks, ended ones too. */
struct calls_counts tracks_counts(const struct tracks *t);

/* The thread's lane, made at need. The pointer is valid until another thread's lane is asked
 * for. */
struct lane *tracks_lane(struct tracks *t, uint32_t thread);
/* tracks_feed for the events that need more than their track's calls. */
void tracks_feed_slow(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit,
		      void *arg);

/* Takes one event of the lane's thread and emits the steps it makes, in order. */
static inline __attribute__((always_inline)) void
tracks_feed(struct tracks *t, struct lane *l, const struct event *e, calls_emit *emit, void *arg)
{
	if (__builtin_expect(l->told || e->kind > EVENT_EXIT, 0))
		tracks_feed_slow(t, l, e, emit, arg);
	else
		calls_feed(&l->now->calls, e, emit, arg);
}
