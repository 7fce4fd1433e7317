/* SPDX-License-Identifier: MIT */
/* Ends the calls that are open at the end of a whole trace: each lasted until the last record of
 * its thread, which for a coroutine is the one that ran on it last (track_thread()). */
#pragma once
#include "trace/tracks.h"

struct track_ends {
	VEC(uint64_t) last; /* TSC of each thread's last record */
};

/* Notes an event of the stream. */
static inline void track_ends_event(struct track_ends *t, const struct event *e)
{
	while (t->last.n <= e->thread)
		*vec_add(&t->last) = 0;
	t->last.at[e->thread] = e->tsc;
}

/* Emits a CALL_LEAVE with CALL_UNFINISHED for each open call of `tracks`. */
void track_ends_all(const struct track_ends *t, const struct tracks *tracks, calls_emit *emit,
		    void *arg);
/* Frees what *t holds and leaves it empty. */
void track_ends_free(struct track_ends *t);
