/* SPDX-License-Identifier: MIT */
#include "instance/triggers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instance/buffer_internal.h"
#include "instance/chunk_builder.h"
#include "instance/synthesized.h"
#include "instance/rules.h"
#include "shared/record.h"

/* When it was off long ago: what was recorded since there are triggers has been cut. */
#define SPANS_MAX 256
/* So much waits here to be looked at; then whoever records has to wait, or to lose. */
#define BEHIND_MOST (256u << 20)

struct triggers {
	struct buffer *buffer;
	chunk_list waiting;          /* locked */
	uint64_t behind;             /* locked: bytes that came since all had been looked at last */
	VEC(struct rules *) coming;  /* locked: by time */
	uint64_t since;              /* the first that had something to run */
	struct rules *now;
	struct stream *stream;
	struct chunk_builder builder;
	off_periods off;                /* the buffer's, up to the time that is looked at */
	off_periods pauses;             /* the buffer's */
	uint64_t turned;             /* when a trigger turned it last */
	VEC(bool) on;                /* by event: it is recorded */
	bool knows_calls;
	struct open_calls calls;
	struct repeats repeats;
	struct frames *frames;       /* NULL: no stack was copied yet */
	VEC(uint32_t) told;          /* by thread: the function + 1 of the record before, if that was a CALL */
	const struct trace_info *info;
};

/* The record that is looked at. */
struct moment {
	struct triggers *t;
	const struct stream_item *item;
	uint64_t from;               /* what is brought about holds from then on */
	bool snapshot, dump;         /* to be done when the record is where it belongs */
	unsigned dump_cpu;
};

struct triggers *triggers_new(struct buffer *b, const struct settings *now)
{
	struct triggers *t = mem_zalloc(sizeof(*t));

	t->buffer = b;
	t->stream = stream_new(true);
	triggers_configure(t, NULL, now, 0);
	return t;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->coming.n; i++)
		rules_free(t->coming.at[i]);
	vec_free(&t->coming);
	rules_free(t->now);
	chunk_list_free(&t->waiting);
	stream_free(t->stream);
	chunk_builder_free(&t->builder);
	vec_free(&t->off);
	vec_free(&t->pauses);
	vec_free(&t->on);
	vec_free(&t->told);
	repeats_free(&t->repeats);
	if (t->knows_calls)
		open_calls_free(&t->calls);
	frames_free(t->frames);
	free(t);
}

void triggers_configure(struct triggers *t, const struct settings *before, const struct settings *next, uint64_t tsc)
{
	if (before && !t->since)
		t->since = tsc;
	*vec_add(&t->coming) = rules_new(before, next, tsc);
}

void triggers_offer(struct triggers *t, const struct chunk_ref *k)
{
	*vec_add(&t->waiting) = chunk_ref_get(k);
	t->behind += k->chunk->n * sizeof(k->chunk->words[0]);
}

/* --- what is recorded ----------------------------------------------------------------- */

static bool is_on(const struct triggers *t, uint32_t event)
{
	return event < t->on.n && t->on.at[event];
}

static void set_on(struct triggers *t, uint32_t event, bool on)
{
	if (event == UINT32_MAX)
		return;
	while (t->on.n <= event)
		*vec_add(&t->on) = false;
	t->on.at[event] = on;
}

/* A record that comes late brings about nothing before what was brought about meanwhile. */
static void turn(struct triggers *t, bool on, uint64_t tsc)
{
	if (tsc < t->turned)
		tsc = t->turned;
	t->turned = tsc;
	off_turn(&t->off, on, tsc);
	buffer_turn(t->buffer, on, tsc);
}

static bool is_recording(const struct triggers *t, const struct stream_item *i)
{
	return !off_at(&t->off, i->time) && !off_at(&t->pauses, i->time) && cpumask_has(&t->now->cpus, i->event->cpu);
}

/* --- actions -------------------------------------------------------------------------- */

static void write_stack(struct triggers *t, const struct stream_item *i, bool user)
{
	uint64_t words[SYNTHESIZED_WORDS];

	if (i->stack && !t->frames)
		t->frames = frames_new();
	if (is_recording(t, i) && synthesize_stack(&t->calls, t->frames, t->now->events.catalogue, i, user, words))
		chunk_builder_record(&t->builder, i, words);
}

static void do_turn(struct moment *m, bool on, uint32_t target)
{
	turn(m->t, on, m->from);
}

static void do_switch(struct moment *m, bool on, uint32_t target)
{
	set_on(m->t, target, on);
}

static void do_snapshot(struct moment *m, bool on, uint32_t target)
{
	m->snapshot = true;
}

static void do_stack(struct moment *m, bool on, uint32_t target)
{
	write_stack(m->t, m->item, false);
}

/* Recording is off afterwards: a command that is not counted dumps once, too. */
static void do_dump(struct moment *m, bool one_cpu, uint32_t target)
{
	m->dump = is_recording(m->t, m->item);
	m->dump_cpu = one_cpu ? m->item->event->cpu : BUFFER_ALL_CPUS;
}

static bool so_turned(const struct moment *m, bool on, uint32_t target)
{
	return !off_at(&m->t->off, m->item->time) == on;
}

static bool so_switched(const struct moment *m, bool on, uint32_t target)
{
	return is_on(m->t, target) == on;
}

static bool never_so(const struct moment *m, bool on, uint32_t target)
{
	return false;
}

struct action {
	void (*act)(struct moment *m, bool on, uint32_t target);
	bool (*so)(const struct moment *m, bool on, uint32_t target); /* what it would bring about is so already */
	bool on;
};

static const struct action of_triggers[] = {
	[TRIGGER_TRACEON] = { do_turn, so_turned, true },
	[TRIGGER_TRACEOFF] = { do_turn, so_turned, false },
	[TRIGGER_SNAPSHOT] = { do_snapshot, never_so, false },
	[TRIGGER_STACKTRACE] = { do_stack, never_so, false },
	[TRIGGER_ENABLE] = { do_switch, so_switched, true },
	[TRIGGER_DISABLE] = { do_switch, so_switched, false },
};

static const struct action of_functions[] = {
	[FUNCTION_TRACEON] = { do_turn, so_turned, true },
	[FUNCTION_TRACEOFF] = { do_turn, so_turned, false },
	[FUNCTION_SNAPSHOT] = { do_snapshot, never_so, false },
	[FUNCTION_STACKTRACE] = { do_stack, never_so, false },
	[FUNCTION_DUMP] = { do_dump, never_so, false },
	[FUNCTION_CPUDUMP] = { do_dump, never_so, true },
	[FUNCTION_ENABLE] = { do_switch, so_switched, true },
	[FUNCTION_DISABLE] = { do_switch, so_switched, false },
};

static void run_trigger(struct moment *m, const struct rule_trigger *r)
{
	const struct action *a = &of_triggers[r->trigger->kind->action];

	if (trigger_due(r->trigger, a->so(m, a->on, r->target)))
		a->act(m, a->on, r->target);
}

static void run_command(struct moment *m, const struct rule_command *r)
{
	const struct action *a = &of_functions[r->command->action];

	if (function_command_due(r->command, a->so(m, a->on, r->target)))
		a->act(m, a->on, r->target);
}

/* As ftrace's dump, which leaves the buffer as it is to be looked at: recording is off then. */
static void finish(struct moment *m)
{
	struct triggers *t = m->t;

	if (m->snapshot || m->dump)
		chunk_builder_flush(&t->builder, &t->buffer->ring);
	if (m->snapshot)
		buffer_snapshot_take(t->buffer);
	if (m->dump) {
		buffer_dump(t->buffer, (struct trace_info *)t->info, m->dump_cpu);
		turn(t, false, m->from);
	}
}

/* --- records -------------------------------------------------------------------------- */

static bool passes(const struct triggers *t, const struct rule *r, const struct filter_program *p, const struct event *e)
{
	return !p || selection_passes(p, r->id, e, t->info, t->buffer->addresses);
}

static bool is_wanted(const struct triggers *t, const struct rule *r, const struct stream_item *i)
{
	return i->ref->what & CHUNK_EVENTS && (r->always || is_on(t, r->index)) && is_recording(t, i) &&
	       passes(t, r, r->filter, i->event);
}

/* Those that are done once the record has been written, or the others. */
static void run_triggers(struct moment *m, const struct rule *r, bool after)
{
	for (size_t k = 0; k < r->triggers.n; k++) {
		const struct rule_trigger *t = &r->triggers.at[k];

		if (t->trigger->kind->after == after && passes(m->t, r, t->trigger->program, m->item->event))
			run_trigger(m, t);
	}
}

/* What is written by hand has no stack, as in ftrace. */
static void keep_event(struct triggers *t, const struct rule *r, const struct stream_item *i)
{
	chunk_builder_record(&t->builder, i, i->words);
	if (t->now->event_stacks && !r->always)
		write_stack(t, i, false);
	if (t->now->user_stacks && !r->always)
		write_stack(t, i, true);
}

/* In ftrace triggers run before their event's record is made if none of them needs to see it: what they turn is true
 * of the record too. Else it has been made by then, and in the buffer, but if the event's filter has still to decide. */
static void take_event(struct triggers *t, const struct stream_item *i)
{
	const struct rule *r = rules_of_event(t->now, i->event->fn);
	struct moment m = { .t = t, .item = i, .from = i->time };

	if (!r)
		return;
	if (r->conditional && !r->filter)
		m.from++; /* the record is of the time before */
	run_triggers(&m, r, false);
	if (!r->conditional)
		finish(&m);
	if (is_wanted(t, r, i))
		keep_event(t, r, i);
	if (r->conditional)
		finish(&m);
	run_triggers(&m, r, true);
}

static uint32_t *told_of(struct triggers *t, uint32_t thread)
{
	while (t->told.n <= thread)
		*vec_add(&t->told) = 0;
	return &t->told.at[thread];
}

/* Where both tracers run (instances may have different ones) a call is told twice, first as the function tracer's. */
static bool is_news(struct triggers *t, const struct stream_item *i)
{
	uint32_t *told = told_of(t, i->event->thread), was = *told;

	if (i->event->kind > EVENT_ENTRY_ONLY)
		return false; /* where a stack is */
	*told = i->event->kind == EVENT_CALL ? i->event->fn + 1 : 0;
	return record_is_call(*i->words) && (*told || was != i->event->fn + 1);
}

/* The function tracer's record of a call, or if that is the one before again, nothing. */
static void keep_call(struct triggers *t, const struct stream_item *i, const uint64_t *own)
{
	uint64_t before[SYNTHESIZED_WORDS];

	if (t->now->no_repeats && repeats_take(&t->repeats, t->info, t->now->events.catalogue, i, before))
		return;
	if (t->now->no_repeats && *before)
		chunk_builder_record(&t->builder, i, before);
	chunk_builder_record(&t->builder, i, own);
	if (t->now->call_stacks)
		write_stack(t, i, false);
}

static void keep(struct triggers *t, const struct stream_item *i)
{
	struct record_filter *record_filter = t->buffer->record_filter;
	const uint64_t *own = record_filter ? record_filter_record(record_filter, t->info, i->event, i->words) : i->words;

	if (i->event->kind == EVENT_SLEPT ? !(i->ref->what & CHUNK_SLEEPS) : !is_recording(t, i))
		return;
	if (!i->words)
		chunk_builder_lost(&t->builder, i);
	else if (own && (i->event->kind == EVENT_CALL || i->event->kind == EVENT_ENTRY_ONLY))
		keep_call(t, i, own);
	else if (own)
		chunk_builder_record(&t->builder, i, own);
}

/* A stack, of which the call is the top, comes behind the call's own record, the others before it. */
static void run_commands(struct moment *m, const struct rules *r, struct rule_range range, bool after)
{
	for (uint32_t k = 0; k < range.n; k++) {
		const struct rule_command *c = &r->commands.at[r->matching.at[range.first + k]];

		if ((c->command->action == FUNCTION_STACKTRACE) == after)
			run_command(m, c);
	}
}

static void take_function(struct triggers *t, const struct stream_item *i)
{
	struct rule_range range = { 0 };
	struct moment m = { .t = t, .item = i, .from = i->time };

	if (t->now->commands.n && is_news(t, i))
		range = rules_of_function(t->now, t->info, t->info->threads.at[i->event->thread].image, i->event->fn);
	run_commands(&m, t->now, range, false);
	finish(&m);
	if (i->ref->what & CHUNK_FUNCTIONS)
		keep(t, i);
	run_commands(&m, t->now, range, true);
}

static void take(struct triggers *t, const struct stream_item *i)
{
	if (i->event->thread >= t->info->threads.n)
		return;
	if (t->knows_calls)
		open_calls_feed(&t->calls, i->event);
	if (i->event->kind == EVENT_LOST)
		keep(t, i);
	else if (i->event->kind == EVENT_TRACE)
		take_event(t, i);
	else
		take_function(t, i);
}

/* --- a run ---------------------------------------------------------------------------- */

static bool is_decided(const struct chunk *c)
{
	return c->resolved || c->refused;
}

/* What came meanwhile: the chunks whose threads are known, and when recording is off. */
static void take_over(struct triggers *t)
{
	size_t n = 0, kept = 0;

	pthread_mutex_lock(&t->buffer->lock);
	for (; n < t->waiting.n && is_decided(t->waiting.at[n].chunk); n++) {
		if (t->waiting.at[n].chunk->resolved)
			stream_add(t->stream, &t->waiting.at[n]);
		chunk_ref_put(&t->waiting.at[n]);
	}
	while (n < t->waiting.n)
		t->waiting.at[kept++] = t->waiting.at[n++];
	t->waiting.n = kept;
	off_forget(&t->buffer->off, t->since, SPANS_MAX);
	t->off.n = 0;
	off_periods_copy(&t->off, &t->buffer->off);
	t->pauses.n = 0;
	off_periods_copy(&t->pauses, &t->buffer->pauses);
	pthread_mutex_unlock(&t->buffer->lock);
}

/* The settings that are next, if they begin before `until`. */
static struct rules *coming(struct triggers *t, uint64_t until)
{
	struct rules *r = NULL;

	pthread_mutex_lock(&t->buffer->lock);
	if (t->coming.n && t->coming.at[0]->from < until) {
		r = t->coming.at[0];
		t->coming.n--;
		memmove(t->coming.at, t->coming.at + 1, t->coming.n * sizeof(t->coming.at[0]));
	}
	pthread_mutex_unlock(&t->buffer->lock);
	return r;
}

static uint64_t next_change(struct triggers *t)
{
	uint64_t from;

	pthread_mutex_lock(&t->buffer->lock);
	from = t->coming.n ? t->coming.at[0]->from : UINT64_MAX;
	pthread_mutex_unlock(&t->buffer->lock);
	return from;
}

static void begin(struct triggers *t, struct rules *next)
{
	for (size_t i = 0; i < next->switched.n; i++)
		set_on(t, next->switched.at[i].index, next->switched.at[i].on);
	rules_free(t->now);
	t->now = next;
	if (next->stacks && !t->knows_calls)
		open_calls_init(&t->calls, t->info);
	else if (!next->stacks && t->knows_calls)
		open_calls_free(&t->calls);
	t->knows_calls = next->stacks;
	if (!next->no_repeats)
		repeats_free(&t->repeats);
}

/* False: there are more. */
static bool run_until(struct triggers *t, uint64_t until, size_t *most)
{
	struct stream_item i;

	for (; *most; --*most) {
		if (!stream_next(t->stream, until, &i))
			return true;
		take(t, &i);
	}
	return false;
}

/* False: there are more. */
static bool run_all(struct triggers *t, uint64_t until, size_t most)
{
	struct rules *next;

	do {
		uint64_t change = next_change(t);

		if (t->now && !run_until(t, change < until ? change : until, &most))
			return false;
		next = coming(t, until);
		if (next)
			begin(t, next);
	} while (next);
	return true;
}

static bool is_far_behind(struct triggers *t)
{
	bool far;

	pthread_mutex_lock(&t->buffer->lock);
	far = t->behind > BEHIND_MOST;
	pthread_mutex_unlock(&t->buffer->lock);
	return far;
}

static void caught_up(struct triggers *t)
{
	pthread_mutex_lock(&t->buffer->lock);
	t->behind = 0;
	pthread_mutex_unlock(&t->buffer->lock);
}

bool triggers_run(struct triggers *t, struct trace_info *info, uint64_t until, size_t most)
{
	bool all, runs;

	t->info = info;
	if (!until)
		return true;
	take_over(t);
	all = run_all(t, until, is_far_behind(t) ? SIZE_MAX : most);
	if (all)
		caught_up(t);
	runs = !all || rules_run(t->now) || next_change(t) != UINT64_MAX;
	most = SIZE_MAX;
	if (!runs)
		run_until(t, UINT64_MAX, &most);
	chunk_builder_flush(&t->builder, &t->buffer->ring);
	return runs;
}

bool triggers_are_idle(const struct triggers *t)
{
	return !t->waiting.n && !t->coming.n;
}

void triggers_present(const struct triggers *t, struct event_set *s)
{
	if (!t->now || t->coming.n)
		return; /* what is written last is what holds */
	for (size_t i = 0; i < t->now->at.n; i++) {
		uint32_t index = t->now->at.at[i].index;

		if (!t->now->at.at[i].always && event_set_get(s, index)->enabled != is_on(t, index))
			event_set_enable(s, index, is_on(t, index));
	}
}
