/* SPDX-License-Identifier: MIT */
/* Passes over the programs' records with the kernel's notices of their threads: the threads' sleeps
 * are merged into their own runs, and the kernel's events follow as runs of their own. Called on
 * the session's thread, which owns the drains. The sink's error ends a pass. */
#include "collect/clock.h"
#include "session/control.h"
#include "session/internal.h"
#include "collect/switches.h"

struct merge_sleeps {
	struct session *s;
	drain_sink *sink;
	void *context;
	record_words words;
};

/* drain_sink: adds the thread's sleeps. */
static int take_run(void *context, const struct drain_run *run, struct err *err)
{
	struct merge_sleeps *w = context;
	struct drain_run merged = *run;

	if (switches_merge_sleeps(control_switches(w->s->control),
				  (pid_t)memories_thread(&w->s->memories, run->slot)->tid, run,
				  &w->words)) {
		merged.words = w->words.at;
		merged.n = w->words.n;
	}
	return w->sink(w->context, &merged, err);
}

static struct drain *drain_of(struct session *s, uint32_t memory)
{
	/* A memory may come while the session runs: its drain is made when it is first seen. */
	if (!s->drains[memory])
		s->drains[memory] = drain_new(&s->memories.at[memory]);
	return s->drains[memory];
}

/* All memories of a session have one mode. */
bool session_overwrites(const struct session *s)
{
	return s->memories.at[0].layout.mode == MEMORY_OVERWRITE;
}

/* Overwrite mode: records stay in the memories until the end; sub-buffers of threads that have
 * ended come back into use. */
void session_recycle(struct session *s)
{
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		drain_recycle(drain_of(s, i));
}

/* The first memory that fails ends the pass. */
static int pass_all(struct merge_sleeps *w, bool partial, struct err *err)
{
	int taken = 0, r = 0;

	for (uint32_t i = 0, n = memories_n(&w->s->memories); i < n && r >= 0; i++) {
		r = drain_pass(drain_of(w->s, i), partial, take_run, w, err);
		taken += r;
	}
	return r < 0 ? r : taken;
}

/* Takes everything out of all memories; the first one that fails ends it. */
static int finish_all(struct merge_sleeps *w, uint64_t *lost, struct err *err)
{
	int taken = 0, r = 0;

	for (uint32_t i = 0, n = memories_n(&w->s->memories); i < n && r >= 0; i++) {
		r = drain_finish(drain_of(w->s, i), take_run, w, lost, err);
		taken += r;
	}
	return r < 0 ? r : taken;
}

int session_pass(struct session *s, bool partial, drain_sink *sink, void *context, struct err *err)
{
	struct merge_sleeps w = { .s = s, .sink = sink, .context = context };
	uint64_t begun = clock_tsc();
	int r = pass_all(&w, partial, err);

	/* else a call may begin without a record, and its sleep stays pending */
	if (r >= 0 && partial && !memories_thresh_ticks(&s->memories))
		switches_forget_before(control_switches(s->control), begun);
	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), false, sink, context, err);
}

int session_finish(struct session *s, drain_sink *sink, void *context, uint64_t *lost,
		   struct err *err)
{
	struct merge_sleeps w = { .s = s, .sink = sink, .context = context };
	int r = finish_all(&w, lost, err);

	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), true, sink, context, err);
}
