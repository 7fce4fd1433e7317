/* SPDX-License-Identifier: MIT */
/* The black box: the last calls of each thread of a program before it died. */
#pragma once
#include "trace/calls.h"
#include "base/out.h"
#include "store/store.h"

struct black_box_thread {
	uint32_t thread;               /* index in trace_info.threads */
	uint64_t tsc;                  /* TSC of its last record */
	bool likely;                   /* the signal most likely hit this thread */
	VEC(struct call_step) finished; /* the last finished calls, a ring */
	size_t next;                   /* index of the oldest in it */
	VEC(struct call_frame) open;   /* outermost first */
};

struct black_box {
	const struct trace_info *info;
	uint64_t end;                  /* the newest of all records */
	/* The thread that the signal hit first, then by last record. */
	VEC(struct black_box_thread) threads;
};

/* Reads the threads of process `pid`, keeping `n` finished calls of each. `sig`: the signal that
 * killed it. 0, or -errno and *err on damage. Call black_box_free whatever happens. */
int black_box_read(struct store_reader *r, uint32_t pid, unsigned n, int sig, struct black_box *out,
		   struct err *err);
/* Prints a block of lines for each of at most `threads_most` threads; each line begins with
 * `prefix`. */
void black_box_print(const struct black_box *l, unsigned threads_most, const char *prefix,
		     struct out *out);
void black_box_free(struct black_box *l);
