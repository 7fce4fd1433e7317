/* SPDX-License-Identifier: MIT */
/* Reads a stream once and gives calls as balanced pairs: each WALK_BEGIN has its WALK_END on the
 * same lane, innermost first. Memory grows with threads, functions and open calls, not with the
 * stream. All exporters read their trace by this but `sqlite`, which is written by
 * query_save(). */
#pragma once
#include "base/stop.h"
#include "report/arguments.h"
#include "trace/overloads.h"
#include "trace/tracks.h"

enum walk_kind { WALK_BEGIN, WALK_END, WALK_EVENT, WALK_LOST };
#define WALK_KINDS_N (WALK_LOST + 1)

enum walk_flag {             /* of a WALK_END */
	WALK_UNWOUND = 1,    /* longjmp, exception */
	WALK_UNFINISHED = 2, /* open at the end of the trace, or of its thread */
	WALK_CUT = 4,        /* records were lost while it was open: it ends at the loss */
	WALK_UNFOLLOWED = 8, /* its return is not followed: it has no duration */
	WALK_VALUE = 16,     /* what it returned is known */
};

/* A function that was called; rows are added when they are first needed. */
struct walk_function {
	char *text;          /* as `report` names it */
	const char *file;    /* last component of its file's path, or "" */
	uint32_t image, id;  /* as in records; id FN_NONE: nothing defines it */
};

struct walk_frame {
	uint64_t begin, begin_ns, inside; /* inside: ticks of calls it made that have ended */
	uint64_t kernel;     /* walk.nests_kernel: ... of the kernel's calls right within it */
	uint32_t function, depth;
	uint32_t note, root; /* the exporter's own, from BEGIN to END */
	/* of an outermost call of the kernel's: the place, + 1, of the program's call that it lies
	 * in, and its lane; 0: none */
	uint32_t below, below_lane;
	char *arguments;     /* NULL: none, or not wanted */
};

/* A stack: a thread's own, or a coroutine's. */
struct walk_lane {
	uint32_t thread;     /* that was first seen on it */
	uint32_t coroutine;  /* 0: the thread's own; else as coroutines are numbered in a process */
	uint32_t running;    /* the thread that ran on it last */
	uint64_t ns;         /* of its latest step */
	VEC(struct walk_frame) open;
};

struct walk_step {
	uint64_t ns;         /* CLOCK_MONOTONIC; never goes back on a lane */
	uint64_t tsc;        /* as it was recorded */
	uint64_t begin_ns;   /* END */
	uint64_t ticks, self; /* END: as `report` counts them, without handlers and sleeps */
	struct call_value value; /* END, WALK_VALUE: as long as the step */
	uint64_t lost;       /* LOST: records */
	const struct event *event;     /* EVENT; BEGIN: it has the arguments, or NULL */
	struct walk_frame *frame;      /* BEGIN, END: the lane's topmost */
	uint32_t lane, thread, function;
	uint32_t depth;      /* of calls open below */
	uint16_t cpu;
	uint8_t kind, flags;
	/* BEGIN of an outermost call of the kernel's, walk.nests_kernel: the program's call that it
	 * lies in; else NULL */
	const struct walk_frame *below;
};

struct walk_counts {
	uint64_t calls, events, losses, arguments, values, unfinished, cut, unfollowed, unwound;
	uint64_t coroutines;
	/* arguments that are texts, and values that are texts or structures, which have no place;
	 * the exporter counts them */
	uint64_t texts, long_values;
};

/* Takes a step, which is valid during the call. 0, or -errno to end the walk. */
typedef int walk_take(void *arg, const struct walk_step *step);

struct walk {
	const struct trace_info *info;
	struct source *source;
	/* choices, set between walk_init() and walk_run(): */
	bool cuts;           /* calls that are open at a loss end there */
	bool wants_arguments;
	/* In a trace of both the kernel's calls lie in those that their thread made in the program
	 * at that time: these have no `self` of their time. */
	bool nests_kernel;
	const struct stop *stop; /* or NULL; asked: ends with -EINTR */
	/* results, growing: */
	VEC(struct walk_function) functions;
	VEC(struct walk_lane) lanes;
	struct walk_counts counts;
	/* private: */
	walk_take *take;
	void *arg;
	int failed;
	struct tracks tracks;
	struct sites sites;
	struct overloads overloads;
	struct number_map function_rows, lane_rows, process_rows, tids;
	struct number_map program_lanes; /* nests_kernel: by TID, + 1: the lane it runs on */
	VEC(uint64_t) last;  /* 1 + TSC of each thread's last record; 0: none */
};

/* source is the caller's and outlives *w. */
void walk_init(struct walk *w, struct source *source);
/* Reads all of the source. 0; what `take` returned; or -errno and *err of the source. */
int walk_run(struct walk *w, walk_take *take, void *arg, struct err *err);
void walk_free(struct walk *w);

/* The thread first seen on a lane; whether it is the kernel's part of a trace of both; the process
 * that it is shown in, which is 0 for these. */
const struct trace_thread *walk_thread(const struct walk *w, uint32_t lane);
bool walk_is_kernel(const struct walk *w, uint32_t lane);
uint32_t walk_process(const struct walk *w, uint32_t lane);
/* Whether a function is of the kernel's part. */
bool walk_is_kernel_function(const struct walk *w, uint32_t function);
/* "comm", or "comm/coN" for a coroutine; free() it. */
char *walk_lane_name(const struct walk *w, uint32_t lane);
/* Nanoseconds of a number of ticks. */
static inline uint64_t walk_ns(const struct walk *w, uint64_t ticks)
{
	return trace_clock_delta_ns(&w->info->clock, ticks);
}
/* The function's description and module; NULL: nothing defines it. */
const struct trace_function *walk_function(const struct walk *w, uint32_t function,
					   const struct trace_module **module);
/* The lane of a thread's own stack, made at need. */
uint32_t walk_thread_lane(struct walk *w, uint32_t thread);
/* Visits what the call of an END returned, named `returned`, by its type. False: as below. */
bool walk_returned_typed(const struct walk *w, const struct walk_step *s, argument_visit *visit,
			 void *context);
/* Prints the same as JSON. False: it is not known, or void, and nothing is printed. */
bool walk_returned_json(const struct walk *w, const struct walk_step *s, struct out *o);
/* Returns the same as text; free() it. NULL: not known, or void. */
char *walk_returned(const struct walk *w, const struct walk_step *s);
