/* SPDX-License-Identifier: MIT */
/* Shared by the files of src/excerpt: a spec that is made out for one trace. It does not change
 * while it is read, but for the counts. */
#pragma once
#include <stdatomic.h>

#include "excerpt/excerpt.h"
#include "excerpt/when.h"

/* A function's part in the excerpt. */
#define FUNCTION_SHOWN 1 /* its calls may be chosen */
#define FUNCTION_ROOT 2  /* a graph begins with it (-g) */
#define FUNCTION_CALLED 4 /* its callers are asked for */

/* Flags of an image's functions, by id. */
struct excerpt_image { uint8_t *flags; size_t n; };

/* Why calls of the range were left out: the first reason of each. The words are in empty.c. */
enum excerpt_reason {
	LEFT_BY_THREAD, LEFT_BY_CPU, LEFT_BY_FUNCTION, LEFT_BY_GRAPH,
	LEFT_BY_DEPTH, LEFT_BY_LATER, /* duration, or whom it calls */
	LEFT_REASONS_N
};

struct excerpt {
	const struct excerpt_spec *spec;
	struct store_reader *reader;
	const struct trace_info *info;
	uint64_t from, to;          /* both included */
	struct store_start *start;  /* what was open at `from`; or NULL */
	bool clip;
	bool graph;                 /* only calls in one of -g */
	bool nests;                 /* records are of calls, not of entries alone */
	bool later;                 /* the trace is read twice */
	uint32_t depth;             /* calls of less depth are chosen */
	VEC(struct excerpt_image) images;
	uint8_t unknown;            /* flags of functions that nothing defines */
	VEC(bool) threads, readers; /* by thread: chosen; of a process that has a chosen one */
	uint8_t *cpus;              /* a mask, or NULL: all */
	size_t n_cpus;
	_Atomic uint64_t given;     /* events that were given out */
	_Atomic uint64_t left[LEFT_REASONS_N];
};

/* "5.000123": as traces print a time. Returned by value, so that one sentence can have two. */
struct shown_when { char text[32]; };
struct shown_when excerpt_shown_time(const struct trace_info *info, uint64_t tsc);
/* Fills x->images. 0, or -errno and *err: a list that no function of the trace is in. */
int excerpt_find_functions(struct excerpt *x, struct err *err);
/* Fills x->threads and x->readers. As above. */
int excerpt_find_threads(struct excerpt *x, struct err *err);

/* Flags of a function in the thread's image. */
static inline uint8_t excerpt_function(const struct excerpt *x, uint32_t thread, uint32_t fn)
{
	const uint32_t image = x->info->threads.at[thread].image;

	if (image >= x->images.n || fn >= x->images.at[image].n)
		return x->unknown;
	return x->images.at[image].flags[fn];
}
