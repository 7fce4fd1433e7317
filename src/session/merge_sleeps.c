/* SPDX-License-Identifier: MIT */
/* Passes over all sources of records, with the threads' sleeps merged into the runs of the session
 * memories on their way to the sink. Called on the session's thread. The sink's error ends a
 * pass. */
#include "collect/clock.h"
#include "collect/switches.h"
#include "session/internal.h"

struct merge_sleeps {
	struct session *s;
	drain_sink *sink;
	void *context;
	record_words words;
};

/* drain_sink: adds the thread's sleeps. Only programs' own records have durations. */
static int take_run(void *context, const struct drain_run *run, struct err *err)
{
	struct merge_sleeps *w = context;
	struct drain_run merged = *run;

	if (slot_in_memory(run->slot) &&
	    switches_merge_sleeps(w->s->switches,
				  (pid_t)memories_thread(&w->s->memories, run->slot)->tid, run,
				  &w->words)) {
		merged.words = w->words.at;
		merged.n = w->words.n;
	}
	return w->sink(w->context, &merged, err);
}

/* All memories of a session have one mode. */
bool session_overwrites(const struct session *s)
{
	return s->memories.at[0].layout.mode == MEMORY_OVERWRITE;
}

/* sink NULL: nothing is taken, the producers only do what they have to do regularly. */
int session_pass(struct session *s, enum producer_pass pass, drain_sink *sink, void *context,
		 uint64_t *lost, struct err *err)
{
	struct merge_sleeps w = { .s = s, .sink = sink, .context = context };
	uint64_t begun = clock_tsc();
	int r = producers_pass(&s->producers, pass, sink ? take_run : NULL, &w, lost, err);

	/* With a threshold a call may begin without a record: its sleep stays pending. */
	if (r >= 0 && pass == PASS_PARTIAL && !memories_thresh_ticks(&s->memories))
		switches_forget_before(s->switches, begun);
	vec_free(&w.words);
	return r;
}
