/* SPDX-License-Identifier: MIT */
/* The ends of open calls, for readers that take all threads' events in one stream (query, library,
 * report/gathered.c). Each reader has its own. Nothing here fails. */
#include "trace/track_ends.h"

static void end_track(const struct track_ends *t, struct track *of, calls_emit *emit, void *arg)
{
	struct event e = { .thread = track_thread(of) };

	/* A thread without records: nothing is open on its stack. */
	if (e.thread >= t->last.n)
		return;
	e.tsc = t->last.at[e.thread];
	calls_end(&of->calls, &e, emit, arg);
}

void track_ends_all(const struct track_ends *t, const struct tracks *tracks, calls_emit *emit,
		    void *arg)
{
	for (size_t i = 0; i < tracks->processes.n; i++) {
		const struct process_tracks *p = tracks->processes.at[i];

		for (size_t k = 0; k < p->tracks.n; k++)
			if (p->tracks.at[k])
				end_track(t, p->tracks.at[k], emit, arg);
	}
}

void track_ends_free(struct track_ends *t)
{
	vec_free(&t->last);
}
