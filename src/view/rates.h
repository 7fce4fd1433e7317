/* SPDX-License-Identifier: MIT */
/* The counts of `brace top`: calls and times of a stream that is still coming, by function, thread
 * and module, in turns. Time belongs to the call on top of each stack, also while it is open: a
 * function that has run for a minute has its part of every second. Nothing is kept of single calls.
 *
 * The walk and all functions but the printing ones are one thread's, or of whoever has the lock
 * that guards it; nothing here reads the trace's information but rates_take(). Times are
 * nanoseconds of CLOCK_MONOTONIC. */
#pragma once
#include "base/histogram.h"
#include "export/walk.h"

enum rates_by { RATES_FUNCTIONS, RATES_THREADS, RATES_MODULES, RATES_BY_N };

struct rates_sum {
	uint64_t calls;           /* that began */
	uint64_t self, total;     /* total: recursive calls are not counted again */
	uint64_t ended, sum, max; /* calls with a duration; of their durations */
	uint64_t p99;             /* within 1 %; of turns that are over */
	struct histogram durations; /* not of RATES_TURN */
};

enum rates_span {
	RATES_TURN,  /* the last turn that is over */
	RATES_ALL,   /* since the beginning, to the end of that turn */
	RATES_NOW,   /* the turn that lasts */
	RATES_SPANS_N
};

struct rates_row {
	char *name;
	const char *file;         /* of a function: its module, the trace's; else "" */
	uint32_t module;          /* of a function: row of RATES_MODULES */
	struct rates_sum sums[RATES_SPANS_N];
};

struct rates_open { uint32_t calls; uint64_t since; };
/* A call that is open: its function's row. */
struct rates_frame { uint32_t function; uint64_t begin; };

/* A stack. open: of each row of functions and of modules. */
struct rates_lane {
	uint64_t last;            /* time of its latest step, or of the end of a turn */
	bool moved;               /* there was a step in this turn */
	bool over;                /* its thread has gone and left it */
	uint32_t thread, pid, tid; /* row of RATES_THREADS; who is on it */
	VEC(struct rates_frame) stack;
	VEC(struct rates_open) open[RATES_BY_N];
};

struct rates {
	const struct walk *walk;
	VEC(struct rates_row) rows[RATES_BY_N];
	VEC(uint32_t) functions, threads; /* 1 + row, by the walk's function, by thread; 0: none */
	VEC(struct rates_lane) lanes;
	struct histogram_pool pools[RATES_SPANS_N];
	uint64_t first, began, latest; /* times: first step, begin of this turn, latest step */
	uint64_t turn_ns, all_ns;      /* how long RATES_TURN and RATES_ALL are */
	uint64_t calls[RATES_SPANS_N], records_lost;
	uint32_t threads_on;           /* of RATES_TURN: with an open call */
};

/* walk is the one whose steps come; it outlives *r. rates_free() frees it. */
void rates_init(struct rates *r, const struct walk *walk);
void rates_free(struct rates *r);
/* Takes a step; walk_take. Returns 0. */
int rates_take(void *arg, const struct walk_step *step);
/* All records before `ns` have come: a turn may end there. Without this the latest step is as far
 * as is known. */
void rates_reach(struct rates *r, uint64_t ns);
/* Ends the turn where the latest step was; another one begins. lives: whether a thread is still
 * there, asked of those that left a call open and made no step; NULL: all are. */
void rates_turn(struct rates *r, bool (*lives)(uint32_t pid, uint32_t tid));
/* Parts of the self times of all functions, in hundredths of a percent. */
unsigned rates_share(const struct rates *r, enum rates_span span, uint64_t ns);
