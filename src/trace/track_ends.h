/* SPDX-License-Identifier: MIT */
/* Ends the calls that are open at the end of a whole trace: each lasted until the last record of
 * its thread. A coroutine has no thread of its own: the one that was first seen on it stands for
 * it. */
#pragma once
#include "trace/trace_processes.h"
#include "trace/tracks.h"

struct track_ends {
	const struct trace_processes *processes;
	VEC(uint64_t) last;       /* TSC of each thread's last record */
	struct number_map coroutines; /* process << 32 | number -> the thread first seen on it */
};

/* Notes an event of the stream. */
static inline void track_ends_event(struct track_ends *t, const struct event *e)
{
	while (t->last.n <= e->thread)
		*vec_add(&t->last) = 0;
	t->last.at[e->thread] = e->tsc;
}

/* Notes that the thread is on coroutine `number`, which is not 0. */
void track_ends_coroutine(struct track_ends *t, uint32_t thread, uint32_t number);
/* Emits a CALL_LEAVE with CALL_UNFINISHED for each open call of `tracks`. */
void track_ends_all(const struct track_ends *t, const struct tracks *tracks, calls_emit *emit,
		    void *arg);
/* Frees what *t holds and leaves it empty. */
void track_ends_free(struct track_ends *t);
