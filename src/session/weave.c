/* SPDX-License-Identifier: MIT */
/* Passes over what programs wrote, with what the kernel tells of their threads: the events made of that after the
 * programs' own, and what threads slept among them. */
#include "collect/clock.h"
#include "session/control.h"
#include "session/internal.h"
#include "collect/switches.h"

struct weave {
	struct session *s;
	drain_sink *sink;
	void *context;
	record_words words;
};

static int take_run(void *context, const struct drain_run *run, struct err *err)
{
	struct weave *w = context;
	struct drain_run woven = *run;

	if (switches_weave(control_switches(w->s->control), (pid_t)memories_thread(&w->s->memories, run->slot)->tid, run, &w->words)) {
		woven.words = w->words.at;
		woven.n = w->words.n;
	}
	return w->sink(w->context, &woven, err);
}

static struct drain *drain_of(struct session *s, uint32_t memory)
{
	if (!s->drains[memory])
		s->drains[memory] = drain_new(&s->memories.at[memory]);
	return s->drains[memory];
}

bool session_overwrites(const struct session *s)
{
	return s->memories.at[0].layout.mode == MEMORY_OVERWRITE;
}

void session_recycle(struct session *s)
{
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		drain_recycle(drain_of(s, i));
}

/* The first that fails ends it. */
static int pass_all(struct weave *w, bool partial, struct err *err)
{
	int taken = 0, r = 0;

	for (uint32_t i = 0, n = memories_n(&w->s->memories); i < n && r >= 0; i++) {
		r = drain_pass(drain_of(w->s, i), partial, take_run, w, err);
		taken += r;
	}
	return r < 0 ? r : taken;
}

static int finish_all(struct weave *w, uint64_t *lost, struct err *err)
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
	struct weave w = { .s = s, .sink = sink, .context = context };
	uint64_t begun = clock_tsc();
	int r = pass_all(&w, partial, err);

	if (r >= 0 && partial && !memories_thresh_ticks(&s->memories)) /* else calls begin without a record */
		switches_settle(control_switches(s->control), begun);
	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), false, sink, context, err);
}

int session_finish(struct session *s, drain_sink *sink, void *context, uint64_t *lost, struct err *err)
{
	struct weave w = { .s = s, .sink = sink, .context = context };
	int r = finish_all(&w, lost, err);

	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), true, sink, context, err);
}
