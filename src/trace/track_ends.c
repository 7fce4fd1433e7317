/* SPDX-License-Identifier: MIT */
/* The ends of open calls, for readers that take all threads' events in one stream (query, library).
 * Each reader has its own. Nothing here fails. */
#include "trace/track_ends.h"

/* Number 0 is no coroutine's, so that no key is 0. */
static uint64_t coroutine_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

void track_ends_coroutine(struct track_ends *t, uint32_t thread, uint32_t number)
{
	uint64_t key = coroutine_key(t->processes->of_thread.at[thread], number);

	if (number_map_get(&t->coroutines, key) == NUMBER_NONE)
		number_map_set(&t->coroutines, key, thread);
}

static void end_track(const struct track_ends *t, uint32_t process, struct track *of,
		      calls_emit *emit, void *arg)
{
	uint32_t number = of->calls.track;
	uint64_t thread = number ? number_map_get(&t->coroutines, coroutine_key(process, number))
				 : of->home;
	struct event e = { 0 };

	/* A coroutine that never had a call, or a thread without records. */
	if (thread >= t->last.n)
		return;
	e.thread = (uint32_t)thread;
	e.tsc = t->last.at[thread];
	calls_end(&of->calls, &e, emit, arg);
}

void track_ends_all(const struct track_ends *t, const struct tracks *tracks, calls_emit *emit,
		    void *arg)
{
	for (size_t i = 0; i < tracks->processes.n; i++) {
		const struct process_tracks *p = tracks->processes.at[i];
		/* The table of threads may lack the process: it had no calls to begin with. */
		uint64_t row = p->thread < t->processes->of_thread.n
				       ? t->processes->of_thread.at[p->thread]
				       : trace_processes_row(t->processes, p->pid, p->image);

		for (size_t k = 0; k < p->tracks.n && row != NUMBER_NONE; k++)
			if (p->tracks.at[k])
				end_track(t, (uint32_t)row, p->tracks.at[k], emit, arg);
	}
}

void track_ends_free(struct track_ends *t)
{
	vec_free(&t->last);
	number_map_free(&t->coroutines);
	t->coroutines = (struct number_map){ 0 };
}
