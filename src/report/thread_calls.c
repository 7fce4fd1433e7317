/* SPDX-License-Identifier: MIT */
/* Reads one thread's events and puts its calls together. Called by path_sums.c and view/survey.c,
 * which read thread by thread, on any thread. Only the input can fail. */
#include "report/thread_calls.h"

#include "trace/tracks.h"

int thread_calls_read(const struct summary_input *in, uint32_t thread, struct event *events,
		      calls_emit *step, void *arg, struct err *err)
{
	void *cursor = in->open(in->of, thread);
	struct sites sites;
	struct tracks tracks;
	struct event last = { 0 };
	struct lane *lane;
	int n;

	if (!cursor)
		return 0;
	sites_init(&sites, in->info);
	lane = tracks_init_one(&tracks, in->info, &sites, thread);
	while ((n = in->next(cursor, events, THREAD_CALLS_EVENTS, err)) > 0) {
		for (int i = 0; i < n; i++)
			tracks_feed(&tracks, lane, &events[i], step, arg);
		last = events[n - 1];
	}
	tracks_end(&tracks, &last, step, arg);
	tracks_free(&tracks);
	sites_free(&sites);
	in->close(cursor);
	return n;
}
