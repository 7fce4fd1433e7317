/* SPDX-License-Identifier: MIT */
/* Runs an instance's triggers. The pump's thread and every holder of pump_lock call triggers_run;
 * `waiting`, `coming` and `behind` are filled under the buffer's lock by those who offer chunks and
 * change settings.
 *
 * The state here follows the records, not the present: rules in force (`now`), events switched on,
 * periods off. Records pass through a chunk builder into the ring, some left out, some with
 * synthesized ones after them. A program faster than its triggers is slowed down by
 * TRIGGERS_BEHIND_MOST: the pass then runs until it has caught up. */
#include "instance/triggers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/rv.h"
#include "hist/hist.h"
#include "instance/buffer_internal.h"
#include "instance/chunk_builder.h"
#include "instance/eprobes.h"
#include "instance/hists.h"
#include "instance/messages.h"
#include "instance/monitors.h"
#include "instance/synthesized.h"
#include "instance/rules.h"
#include "instance/wake_events.h"
#include "instance/wakes.h"
#include "shared/record.h"

/* Off periods that are kept. Older ones concern no record: whatever was recorded since the triggers
 * began has been cut already. */
#define SPANS_MAX 256
/* Synthetic events, one made by a histogram of another, that are made from one record. */
#define CHAIN_MOST 8

/* Bytes of records that wait for the ring. What triggers and monitors make of a record may be ten
 * times its size. */
#define BUILT_MOST (1u << 20)

struct triggers {
	struct buffer *buffer;
	chunk_list waiting;          /* locked */
	uint64_t behind;             /* locked: bytes that arrived since the queue was empty last */
	VEC(struct rules *) coming;  /* locked: settings to come, by time */
	uint64_t since;              /* TSC of the first settings that had something to run */
	struct rules *now;
	struct stream *stream;
	struct chunk_builder builder;
	/* the buffer's off periods, and those that triggers began since */
	off_periods off;
	off_periods pauses;             /* the buffer's */
	uint64_t turned;             /* the latest time at which a trigger turned recording */
	VEC(bool) on;                /* by event index: it is recorded */
	bool knows_calls;
	struct open_calls calls;
	struct repeats repeats;
	struct frames *frames;       /* NULL: no stack was copied yet */
	/* By thread: 1 + the function of the record before, if that was an EVENT_CALL. */
	VEC(uint32_t) told;
	struct trace_info *info;
	struct eprobe_calls system_calls;
	struct event_texts *texts;   /* of messages; NULL: none was sent yet */
	struct wakeup *wakes;        /* of a latency tracer; NULL: there is none */
	struct wake_events *ahead;   /* of events made of wake-ups; NULL: none is armed */
	uint64_t horizon;            /* see triggers_horizon() */
	struct monitors *monitors;   /* NULL: none watches */
	unsigned chained;            /* synthetic events that are being looked at, one in another */
};

/* The record that is looked at, and what it causes. */
struct occurrence {
	struct triggers *t;
	const struct stream_item *item;
	struct event_trigger *trigger; /* the one that acts; NULL: a function command */
	uint16_t id;                 /* of an event: its format's */
	uint64_t from;               /* effects hold from this TSC on */
	bool snapshot, dump;         /* to be done when the record is in the ring */
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
	synthesized_repeats_free(&t->repeats);
	if (t->knows_calls)
		open_calls_free(&t->calls);
	if (t->wakes)
		wakeup_free(t->wakes);
	wake_events_free(t->ahead);
	monitors_free(t->monitors);
	frames_free(t->frames);
	eprobes_free(&t->system_calls);
	if (t->texts)
		event_texts_free(t->texts);
	free(t);
}

void triggers_configure(struct triggers *t, const struct settings *before,
			const struct settings *next, uint64_t tsc)
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

/* UINT32_MAX: the trigger names no event. */
static void set_on(struct triggers *t, uint32_t event, bool on)
{
	if (event == UINT32_MAX)
		return;
	while (t->on.n <= event)
		*vec_add(&t->on) = false;
	t->on.at[event] = on;
}

/* Turns recording on or off. A record that was stamped late must not switch earlier than the last
 * switch. */
static void turn_recording(struct triggers *t, bool on, uint64_t tsc)
{
	if (tsc < t->turned)
		tsc = t->turned;
	t->turned = tsc;
	off_turn(&t->off, on, tsc);
	buffer_turn(t->buffer, on, tsc);
}

/* The record's own time and CPU decide. */
static bool is_recording(const struct triggers *t, const struct stream_item *i)
{
	return !off_at(&t->off, i->time) && !off_at(&t->pauses, i->time) &&
	       cpumask_has(&t->now->cpus, i->event->cpu);
}

/* --- actions -------------------------------------------------------------------------- */

/* Writes a stack record after item i's, if recording is on there. */
static void write_stack(struct triggers *t, const struct stream_item *i, bool user)
{
	uint64_t words[SYNTHESIZED_WORDS];

	if (i->stack && !t->frames)
		t->frames = frames_new(t->info);
	if (is_recording(t, i) &&
	    synthesized_stack(&t->calls, t->frames, t->now->events.catalogue, i, user, words))
		chunk_builder_record(&t->builder, i, words);
}

static void do_turn(struct occurrence *m, bool on, uint32_t target)
{
	turn_recording(m->t, on, m->from);
}

static void do_switch(struct occurrence *m, bool on, uint32_t target)
{
	set_on(m->t, target, on);
}

static void do_snapshot(struct occurrence *m, bool on, uint32_t target)
{
	m->snapshot = true;
}

static void do_stack(struct occurrence *m, bool on, uint32_t target)
{
	write_stack(m->t, m->item, false);
}

static void trigger_event(struct triggers *t, const struct stream_item *i);

/* Looks at a record of event e as if the thread had recorded it now: n words of payload behind
 * record[0], which is filled here. False: too many are in a chain. */
static bool make_record(struct triggers *t, const struct stream_item *at,
			const struct event_entry *e, uint64_t *record, unsigned n)
{
	struct event event = *at->event;
	struct stream_item i = *at;

	if (t->chained == CHAIN_MOST)
		return false;
	record[0] = record_word(event.tsc, record_event_id(n, RECORD_EVENT_TRACE + e->index),
				RECORD_EVENT);
	event.fn = e->index;
	event.payload = record + 1;
	event.count = n * sizeof(*record);
	i.event = &event;
	i.words = record;
	t->chained++;
	trigger_event(t, &i);
	t->chained--;
	return true;
}

/* hist_source_state.make: looks at a synthetic event as if the thread had recorded it now. Whoever
 * has it make itself again is stopped. */
static bool make_event(void *arg, const struct event_entry *e, const uint64_t *payload,
		       size_t words)
{
	struct occurrence *m = arg;
	uint64_t record[SYNTHESIZED_WORDS];

	memcpy(record + 1, payload, words * sizeof(*payload));
	return make_record(m->t, m->item, e, record, (unsigned)words);
}

/* hist_source_state.snapshot */
static void note_snapshot(void *arg)
{
	((struct occurrence *)arg)->snapshot = true;
}

/* Counts the record, whether recording is on or not, as in ftrace. */
static void do_hist(struct occurrence *m, bool on, uint32_t target)
{
	struct triggers *t = m->t;
	struct hist_source_state s = { .info = t->info,
				       .addresses = t->buffer->addresses,
				       .calls = &t->calls,
				       .item = m->item,
				       .tsc = buffer_time_of(t->buffer, m->item->event),
				       .id = m->id,
				       .make = make_event,
				       .snapshot = note_snapshot,
				       .arg = m };

	if (m->item->stack && !t->frames)
		t->frames = frames_new(t->info);
	s.frames = t->frames;
	hists_count(m->trigger, &s);
}

/* Pauses or continues the histograms of another event. */
static void do_pause(struct occurrence *m, bool on, uint32_t target)
{
	hists_pause(rules_of_event(m->t->now, target), !on);
}

/* Tells a receiver, or begins a command; whether recording is on or not, as histograms. */
static void do_message(struct occurrence *m, bool on, uint32_t target)
{
	struct triggers *t = m->t;
	const struct message_source s = { t->info,
					  events_at(t->now->events.catalogue,
						    m->item->event->fn),
					  m->item->event,
					  buffer_time_of(t->buffer, m->item->event) };

	if (!t->texts)
		t->texts = event_texts_new(t->info);
	messages_make(m->trigger->own, &s, t->texts);
}

/* Notes a dump for finish_occurrence(). Recording is off after a dump, so that a command without
 * a count dumps once, too. */
static void do_dump(struct occurrence *m, bool one_cpu, uint32_t target)
{
	m->dump = is_recording(m->t, m->item);
	m->dump_cpu = one_cpu ? m->item->event->cpu : BUFFER_ALL_CPUS;
}

/* `so` functions: whether the action would change nothing. Counted triggers do not count such a
 * hit. */
static bool already_turned(const struct occurrence *m, bool on, uint32_t target)
{
	return !off_at(&m->t->off, m->item->time) == on;
}

static bool already_switched(const struct occurrence *m, bool on, uint32_t target)
{
	return is_on(m->t, target) == on;
}

static bool already_paused(const struct occurrence *m, bool on, uint32_t target)
{
	return hists_are_paused(rules_of_event(m->t->now, target)) == !on;
}

static bool is_never_already(const struct occurrence *m, bool on, uint32_t target)
{
	return false;
}

struct rule_action {
	void (*act)(struct occurrence *m, bool on, uint32_t target);
	/* Whether its effect holds already. */
	bool (*already)(const struct occurrence *m, bool on, uint32_t target);
	bool on;
};

static const struct rule_action of_triggers[TRIGGER_ACTIONS_N] = {
	[TRIGGER_TRACEON] = { do_turn, already_turned, true },
	[TRIGGER_TRACEOFF] = { do_turn, already_turned, false },
	[TRIGGER_SNAPSHOT] = { do_snapshot, is_never_already, false },
	[TRIGGER_STACKTRACE] = { do_stack, is_never_already, false },
	[TRIGGER_ENABLE] = { do_switch, already_switched, true },
	[TRIGGER_DISABLE] = { do_switch, already_switched, false },
	[TRIGGER_HIST] = { do_hist, is_never_already, false },
	[TRIGGER_ENABLE_HIST] = { do_pause, already_paused, true },
	[TRIGGER_DISABLE_HIST] = { do_pause, already_paused, false },
	[TRIGGER_NOTIFY] = { do_message, is_never_already, false },
	[TRIGGER_EXEC] = { do_message, is_never_already, false },
};

static const struct rule_action of_functions[FUNCTION_ACTIONS_N] = {
	[FUNCTION_TRACEON] = { do_turn, already_turned, true },
	[FUNCTION_TRACEOFF] = { do_turn, already_turned, false },
	[FUNCTION_SNAPSHOT] = { do_snapshot, is_never_already, false },
	[FUNCTION_STACKTRACE] = { do_stack, is_never_already, false },
	[FUNCTION_DUMP] = { do_dump, is_never_already, false },
	[FUNCTION_CPUDUMP] = { do_dump, is_never_already, true },
	[FUNCTION_ENABLE] = { do_switch, already_switched, true },
	[FUNCTION_DISABLE] = { do_switch, already_switched, false },
};

static void run_trigger(struct occurrence *m, const struct rule_trigger *r)
{
	const struct rule_action *a = &of_triggers[r->trigger->kind->action];

	m->trigger = r->trigger;
	if (trigger_due(r->trigger, a->already(m, a->on, r->target)))
		a->act(m, a->on, r->target);
}

static void run_command(struct occurrence *m, const struct rule_command *r)
{
	const struct rule_action *a = &of_functions[r->command->action];

	if (function_command_due(r->command, a->already(m, a->on, r->target)))
		a->act(m, a->on, r->target);
}

/* Does what has to wait until the record is in the ring: snapshot and dump. Recording is off after
 * a dump, as after ftrace's, so that the buffer stays as it was printed. */
static void finish_occurrence(struct occurrence *m)
{
	struct triggers *t = m->t;

	/* Records that were chosen so far are still in the builder. */
	if (m->snapshot || m->dump)
		chunk_builder_flush(&t->builder, &t->buffer->ring);
	if (m->snapshot)
		buffer_snapshot_take(t->buffer);
	if (m->dump) {
		buffer_dump(t->buffer, t->info, m->dump_cpu);
		turn_recording(t, false, m->from);
	}
}

/* --- records -------------------------------------------------------------------------- */

static bool passes_filter(const struct triggers *t, const struct rule *r,
			  const struct filter_program *p, const struct event *e)
{
	return !p || selection_passes(p, r->id, e, t->info, t->buffer->addresses);
}

/* Whether the instance keeps the event's record. */
static bool keeps_record(const struct triggers *t, const struct rule *r,
			 const struct stream_item *i)
{
	return (i->ref->what & CHUNK_EVENTS || t->chained) && (r->always || is_on(t, r->index)) &&
	       is_recording(t, i) && passes_filter(t, r, r->filter, i->event);
}

/* Runs the triggers that act after the record is written, or the others. */
static void run_triggers(struct occurrence *m, const struct rule *r, bool after)
{
	for (size_t k = 0; k < r->triggers.n; k++) {
		const struct rule_trigger *t = &r->triggers.at[k];

		if (t->trigger->kind->after == after &&
		    passes_filter(m->t, r, t->trigger->program, m->item->event))
			run_trigger(m, t);
	}
}

/* Keeps an event's record, and its stack if an option asks. Records of trace_marker have no stack,
 * as in ftrace. */
static void keep_event(struct triggers *t, const struct rule *r, const struct stream_item *i)
{
	chunk_builder_record(&t->builder, i, i->words);
	if (t->now->event_stacks && !r->always)
		write_stack(t, i, false);
	if (t->now->user_stacks && !r->always)
		write_stack(t, i, true);
}

/* Fills *copy and *words with a marker as its triggers see it: without the newline at its end,
 * which the writer may have left out. A longer record than there can be is left as it is. */
static void marker_of(const struct stream_item *i, struct event *event, uint64_t *words,
		      struct stream_item *copy)
{
	size_t bytes = i->event->count, n;
	char *text = (char *)(words + 2);

	*copy = *i;
	if (bytes <= sizeof(*words) || bytes > 8 * RECORD_PAYLOAD_MAX)
		return;
	memcpy(words, i->words, sizeof(*words) + bytes);
	n = strnlen(text, bytes - sizeof(*words));
	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	*event = *i->event;
	event->payload = words + 1;
	copy->event = event;
	copy->words = words;
}

/* Makes the records of events on this one, and looks at each as at any other. */
static void make_eprobes(struct triggers *t, const struct rule *r, const struct stream_item *i)
{
	uint64_t words[SYNTHESIZED_WORDS];
	unsigned n;

	eprobes_note(&t->system_calls, events_at(t->now->events.catalogue, r->index), i->event);
	for (size_t k = 0; k < r->made.n; k++) {
		const struct event_entry *e = r->made.at[k];

		/* A filter that needs functions runs here; eprobes_make() reads the process's
		 * memory. */
		if (e->eprobe->filter && e->eprobe->filter->needs & FILTER_NEEDS_RESOLVE &&
		    !passes_filter(t, r, e->eprobe->filter, i->event))
			continue;
		n = eprobes_make(e->eprobe, i->event, t->info, &t->system_calls, words + 1);
		if (n)
			make_record(t, i, e, words, n);
	}
}

/* Looks at an event. In ftrace triggers run before their event's record is made if none of them
 * looks at it: their effect then holds for the record, too. Otherwise the record is made first, and
 * is in the buffer by then, unless the event's filter is still to decide. */
static void trigger_event(struct triggers *t, const struct stream_item *i)
{
	const struct rule *r = rules_of_event(t->now, i->event->fn);
	struct occurrence m = { .t = t, .item = i, .from = i->time };
	uint64_t words[1 + RECORD_PAYLOAD_MAX];
	struct stream_item marker;
	struct event event;

	if (!r)
		return;
	if (r->always && r->triggers.n) {
		marker_of(i, &event, words, &marker);
		m.item = &marker;
	}
	m.id = r->id;
	if (r->conditional && !r->filter)
		m.from++; /* the record still belongs to the time before */
	run_triggers(&m, r, false);
	if (!r->conditional)
		finish_occurrence(&m);
	if (keeps_record(t, r, i))
		keep_event(t, r, i);
	if (t->now->makes)
		make_eprobes(t, r, i);
	if (r->conditional)
		finish_occurrence(&m);
	run_triggers(&m, r, true);
}

/* --- monitors ------------------------------------------------------------------------- */

/* The record at which a model makes its steps. */
struct monitored { struct triggers *t; const struct stream_item *item; };

/* The kernel's line for its reactor printk; there the console has it, here the file `dump`. */
static void print_fault(struct triggers *t, const struct monitor_step *s)
{
	char *line = mem_printf("rv: monitor %s does not allow event %s on state %s\n",
				rv_name(s->of), s->event, s->state);

	buffer_print(t->buffer, line);
	free(line);
}

/* Stops the process, as long as the thread is still one of its. The thread's numbers are what the
 * process says of itself: a hostile one may name any other. So only the process that executed the
 * image, which brace knows by itself, is stopped, not one that forked from it. */
static void stop_process(const struct trace_info *info, const struct trace_thread *thread)
{
	if (thread->image >= info->images.n || info->images.at[thread->image].pid != thread->pid)
		return;
	if (syscall(SYS_tgkill, thread->pid, thread->tid, 0) == 0)
		kill((pid_t)thread->pid, SIGSTOP);
}

/* Runs the monitor's reactor on a fault, whose record has been made. */
static void react(struct triggers *t, const struct stream_item *i, const struct monitor_step *s)
{
	const enum rv_reactor r = t->now->rv.at[s->of].reactor;

	if (!t->now->rv.reacting)
		return;
	if (r == RV_REACTOR_PRINTK)
		print_fault(t, s);
	if (r == RV_REACTOR_STOP)
		stop_process(t->info, &t->info->threads.at[i->event->thread]);
	if (r == RV_REACTOR_SNAPSHOT) {
		chunk_builder_flush(&t->builder, &t->buffer->ring);
		buffer_snapshot_take(t->buffer);
	}
	if (r == RV_REACTOR_TRACEOFF)
		turn_recording(t, false, i->time + 1);
}

/* monitor_sink: looks at the step's event as if the thread had recorded it. */
static void take_step(void *arg, const struct monitor_step *s)
{
	const struct monitored *m = arg;
	struct triggers *t = m->t;
	const struct event_entry *e = s->next ? t->now->monitors[s->of].step
					      : t->now->monitors[s->of].error;
	uint64_t words[1 + sizeof(struct rv_event) / 8];
	struct rv_event step = { .id = s->id, .final_state = s->final };
	size_t n = s->next ? sizeof(struct rv_event) : sizeof(struct rv_error);

	if (!rv_watches(&t->now->rv, s->of))
		return;
	snprintf(step.state, sizeof(step.state), "%s", s->state);
	snprintf(step.event, sizeof(step.event), "%s", s->event);
	snprintf(step.next_state, sizeof(step.next_state), "%s", s->next ? s->next : "");
	/* An error has the same members, but for the last ones. */
	memcpy(words + 1, &step, n);
	if (e && m->item->ref->what & CHUNK_EVENTS)
		make_record(t, m->item, e, words, (unsigned)(n / 8));
	if (!s->next)
		react(t, m->item, s);
}

static void watch(struct triggers *t, const struct stream_item *i)
{
	struct monitored m = { t, i };

	if (t->monitors)
		monitors_event(t->monitors, i->event, take_step, &m);
}

static uint32_t *told_of(struct triggers *t, uint32_t thread)
{
	while (t->told.n <= thread)
		*vec_add(&t->told) = 0;
	return &t->told.at[thread];
}

/* Whether the record is the first to tell of its call. Where several instances have different
 * tracers a call is recorded twice, first as the function tracer's. */
static bool is_new(struct triggers *t, const struct stream_item *i)
{
	uint32_t *told = told_of(t, i->event->thread), was = *told;

	if (i->event->kind > EVENT_ENTRY_ONLY)
		return false; /* a place on a stack, not a call */
	*told = i->event->kind == EVENT_CALL ? i->event->fn + 1 : 0;
	return record_is_call(*i->words) && (*told || was != i->event->fn + 1);
}

/* Keeps the function tracer's record of a call, unless func-no-repeats counts it as a
 * repetition. */
static void keep_call(struct triggers *t, const struct stream_item *i, const uint64_t *own)
{
	uint64_t before[SYNTHESIZED_WORDS];

	if (t->now->no_repeats &&
	    synthesized_repeats_take(&t->repeats, t->info, t->now->events.catalogue, i, before))
		return;
	if (t->now->no_repeats && *before)
		chunk_builder_record(&t->builder, i, before);
	chunk_builder_call(&t->builder, i, own);
	if (t->now->call_stacks)
		write_stack(t, i, false);
}

/* Keeps a record of functions as the record filter makes it. Sleeps are kept in off periods, too:
 * they shorten calls that are shown. */
static void keep_item(struct triggers *t, const struct stream_item *i)
{
	struct record_filter *record_filter = t->buffer->record_filter;
	const uint64_t *own =
		record_filter ? record_filter_record(record_filter, t->info, i->event, i->words)
			      : i->words;

	if (i->event->kind == EVENT_SLEPT ? !(i->ref->what & CHUNK_SLEEPS) : !is_recording(t, i))
		return;
	if (!i->words)
		chunk_builder_lost(&t->builder, i);
	else if (own && (i->event->kind == EVENT_CALL || i->event->kind == EVENT_ENTRY_ONLY))
		keep_call(t, i, own);
	else if (own)
		chunk_builder_call(&t->builder, i, own);
}

/* Runs a function's commands: stacktrace after the call's own record, because the call is the top
 * of the stack, all others before it. */
static void run_commands(struct occurrence *m, const struct rules *r, struct rule_range range,
			 bool after)
{
	for (uint32_t k = 0; k < range.n; k++) {
		const struct rule_command *c = &r->commands.at[r->matching.at[range.first + k]];

		if ((c->command->action == FUNCTION_STACKTRACE) == after)
			run_command(m, c);
	}
}

/* Looks at a record of functions. Commands see calls also where the instance traces none. */
static void take_function(struct triggers *t, const struct stream_item *i)
{
	struct rule_range range = { 0 };
	struct occurrence m = { .t = t, .item = i, .from = i->time };

	if (t->now->commands.n && is_new(t, i))
		range = rules_of_function(
			t->now, t->info, t->info->threads.at[i->event->thread].image, i->event->fn);
	run_commands(&m, t->now, range, false);
	finish_occurrence(&m);
	if (i->ref->what & CHUNK_FUNCTIONS)
		keep_item(t, i);
	run_commands(&m, t->now, range, true);
}

/* The thread is checked: the index is from a chunk that may have been resolved against an older
 * info. */
static void take_item(struct triggers *t, const struct stream_item *i)
{
	if (i->event->thread >= t->info->threads.n)
		return;
	if (t->knows_calls)
		open_calls_feed(&t->calls, i->event);
	/* Calls as the function tracer has them come beside entries and exits. */
	if (t->wakes && i->event->kind != EVENT_CALL)
		wakeup_event(t->wakes, i->event);
	if (i->event->kind == EVENT_LOST) {
		hists_lose(t->now, i->event->count);
		keep_item(t, i);
	} else if (i->event->kind == EVENT_TRACE) {
		trigger_event(t, i);
	} else {
		take_function(t, i);
	}
	watch(t, i);
}

/* --- a run ---------------------------------------------------------------------------- */

static bool is_decided(const struct chunk *c)
{
	return c->resolved || c->refused;
}

/* Begins to pair waits and wakes as soon as rules to come have events that are made of them, and
 * ends when no rules have. Called with the buffer's lock held. */
static void look_ahead(struct triggers *t)
{
	bool wanted = t->now && t->now->makes_wakes;

	for (size_t i = 0; i < t->coming.n; i++)
		wanted |= t->coming.at[i]->makes_wakes;
	if (wanted && !t->ahead)
		t->ahead = wake_events_new(t->info);
	if (wanted || !t->ahead)
		return;
	wake_events_free(t->ahead);
	t->ahead = NULL;
}

/* Takes over what arrived since the last run: chunks whose threads are known, and the periods in
 * which recording was off. An unresolved chunk holds back all later ones, which keeps a thread's
 * chunks in order. */
static void take_over(struct triggers *t)
{
	size_t n = 0, kept = 0;

	pthread_mutex_lock(&t->buffer->lock);
	look_ahead(t);
	for (; n < t->waiting.n && is_decided(t->waiting.at[n].chunk); n++) {
		if (t->waiting.at[n].chunk->resolved)
			stream_add(t->stream, &t->waiting.at[n]);
		if (t->waiting.at[n].chunk->resolved && t->ahead)
			wake_events_add(t->ahead, &t->waiting.at[n]);
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

/* Takes out the next settings, if they begin before `until`. */
static struct rules *take_coming(struct triggers *t, uint64_t until)
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

/* wakeup_watch: a wake-up was found, whose records are still in the builder. */
static void take_wake(void *arg, const struct wakeup_found *f)
{
	struct triggers *t = arg;

	chunk_builder_flush(&t->builder, &t->buffer->ring);
	wakes_take(t->buffer, t->info, t->now->events.catalogue, f);
}

/* A latency tracer begins, goes on or ends: what it knows of calls that are open stays. */
static void watch_wakes(struct triggers *t, const struct rules *next)
{
	if (!next->wakes && t->wakes) {
		wakeup_free(t->wakes);
		t->wakes = NULL;
	} else if (next->wakes && !t->wakes) {
		t->wakes = wakeup_new(t->info, WAKEUP_BY_WAY);
		wakeup_watch(t->wakes, take_wake, t);
	}
}

/* Monitors begin with what they then see; their objects are in their first states. */
static void watch_objects(struct triggers *t, const struct rules *next)
{
	const bool wanted = rv_watches_any(&next->rv);

	if (wanted && !t->monitors)
		t->monitors = monitors_new(t->info);
	if (wanted || !t->monitors)
		return;
	monitors_free(t->monitors);
	t->monitors = NULL;
}

/* Puts rules into force. Only events that the write switched change: what triggers switched
 * stays. */
static void begin_rules(struct triggers *t, struct rules *next)
{
	for (size_t i = 0; i < next->switched.n; i++)
		set_on(t, next->switched.at[i].index, next->switched.at[i].on);
	rules_free(t->now);
	t->now = next;
	watch_wakes(t, next);
	watch_objects(t, next);
	hists_begin(next);
	/* Calls that began before are not known to stacks. */
	if (next->stacks && !t->knows_calls)
		open_calls_init(&t->calls, t->info);
	else if (!next->stacks && t->knows_calls)
		open_calls_free(&t->calls);
	t->knows_calls = next->stacks;
	if (!next->no_repeats)
		synthesized_repeats_free(&t->repeats);
}

/* wake_events_take(): a record as if its thread had made it. */
static void take_made(void *arg, const struct stream_item *i)
{
	trigger_event(arg, i);
}

/* Looks at records before `until`, and at wake-ups behind the records of their time. False: *most
 * is used up and records are left. */
static bool run_until(struct triggers *t, uint64_t until, size_t *most)
{
	struct stream_item i;

	for (; *most; --*most) {
		const uint64_t made = wake_events_time(t->ahead);

		if (stream_next(t->stream, made < until ? made + 1 : until, &i))
			take_item(t, &i);
		else if (made < until)
			wake_events_take(t->ahead, &t->now->made_wakes, take_made, t);
		else
			return true;
		if (t->builder.bytes > BUILT_MOST)
			chunk_builder_flush(&t->builder, &t->buffer->ring);
	}
	return false;
}

/* Looks at records before `until`, under the rules that held when each was made. False: records are
 * left. */
static bool run_all(struct triggers *t, uint64_t until, size_t most)
{
	struct rules *next;

	do {
		uint64_t change = next_change(t);

		if (t->now && !run_until(t, change < until ? change : until, &most))
			return false;
		next = take_coming(t, until);
		if (next)
			begin_rules(t, next);
	} while (next);
	return true;
}

static bool is_far_behind(struct triggers *t)
{
	bool far;

	pthread_mutex_lock(&t->buffer->lock);
	far = t->behind > TRIGGERS_BEHIND_MOST;
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
	bool all, runs, ahead = true;

	t->info = info;
	/* Nothing is complete before the first pass. */
	if (!until)
		return true;
	take_over(t);
	most = is_far_behind(t) ? SIZE_MAX : most;
	t->horizon = t->ahead ? wake_events_look(t->ahead, until, most, &ahead) : until;
	all = run_all(t, t->horizon, most) && ahead;
	if (all)
		caught_up(t);
	runs = !all || rules_run(t->now) || next_change(t) != UINT64_MAX;
	most = SIZE_MAX;
	/* Without rules nothing needs the order of time any more: all records go to the ring, so
	 * that the triggers can be freed. */
	if (!runs)
		run_until(t, UINT64_MAX, &most);
	chunk_builder_flush(&t->builder, &t->buffer->ring);
	return runs;
}

uint64_t triggers_horizon(const struct triggers *t)
{
	return t->horizon;
}

bool triggers_are_idle(const struct triggers *t)
{
	return !t->waiting.n && !t->coming.n;
}

void triggers_present(const struct triggers *t, struct event_set *s)
{
	if (!t->now || t->coming.n)
		return; /* the last write holds */
	for (size_t i = 0; i < t->now->at.n; i++) {
		uint32_t index = t->now->at.at[i].index;

		if (!t->now->at.at[i].always && event_set_get(s, index)->enabled != is_on(t, index))
			event_set_enable(s, index, is_on(t, index));
	}
}
