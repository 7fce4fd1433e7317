/* SPDX-License-Identifier: MIT */
/* The black box: what each thread of a program did last before it died. */
#pragma once
#include "trace/calls.h"
#include "base/out.h"
#include "store/store.h"

struct last_thread {
	uint32_t thread;               /* index in trace_info.threads */
	uint64_t tsc;                  /* of its last record */
	bool likely;                   /* the signal hit this one, as far as can be told */
	VEC(struct call_step) finished; /* the last ones, a ring */
	size_t next;                   /* in it: the oldest */
	VEC(struct call_frame) open;   /* outermost first */
};

struct last {
	const struct trace_info *info;
	uint64_t end;                  /* the newest of all records */
	VEC(struct last_thread) threads; /* the one the signal hit first, then by their last record */
};

/* Reads the threads of process `pid`, keeping `n` finished calls of each. `sig`: what it died of. 0, or
 * -errno and *err on damage; last_free() whatever happens. */
int last_read(struct store_reader *r, uint32_t pid, unsigned n, int sig, struct last *out, struct err *err);
/* A block of lines a thread, at most `threads_most` threads; `prefix` begins each line. */
void last_print(const struct last *l, unsigned threads_most, const char *prefix, struct out *out);
void last_free(struct last *l);
