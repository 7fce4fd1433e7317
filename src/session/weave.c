/* Passes over what programs wrote, with what the kernel tells of their threads: the events made of that after the
 * programs' own, and what threads slept among them. */
#include "session/clock.h"
#include "session/control.h"
#include "session/internal.h"
#include "session/switches.h"

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

	if (switches_weave(control_switches(w->s->control), (pid_t)w->s->memory.threads[run->slot].tid, run, &w->words)) {
		woven.words = w->words.at;
		woven.n = w->words.n;
	}
	return w->sink(w->context, &woven, err);
}

int session_pass(struct session *s, bool partial, drain_sink *sink, void *context, struct err *err)
{
	struct weave w = { .s = s, .sink = sink, .context = context };
	uint64_t begun = clock_tsc();
	int r = drain_pass(s->drain, partial, take_run, &w, err);

	if (r >= 0 && partial && !__atomic_load_n(&s->memory.header->thresh_ticks, __ATOMIC_RELAXED)) /* else calls begin without a record */
		switches_settle(control_switches(s->control), begun);
	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), false, sink, context, err);
}

int session_finish(struct session *s, drain_sink *sink, void *context, uint64_t *lost, struct err *err)
{
	struct weave w = { .s = s, .sink = sink, .context = context };
	int r = drain_finish(s->drain, take_run, &w, lost, err);

	vec_free(&w.words);
	return r < 0 ? r : switches_pass(control_switches(s->control), true, sink, context, err);
}
