/* SPDX-License-Identifier: MIT */
/* A cursor over a trace's calls and events: events are read in batches, followed to steps, and
 * given as records or as columns. Programs call it, one thread at a time for a cursor; several
 * cursors of one trace may run at the same time, since each has its own state and the trace's is
 * constant. Fails as the reader of trace files does. */
#include <errno.h>
#include <string.h>

#include "library/library.h"
#include "query/event_values.h"
#include "report/arguments.h"
#include "report/event_text.h"
#include "trace/track_ends.h"

/* Steps that are made at once, if no event ends the batch: large enough that the wall around each
 * batch (library_try) costs nothing. */
#define BATCH 512u

struct brace_calls {
	struct brace_trace *t;
	struct excerpt_spec spec;
	struct source *source;
	struct sites sites;
	struct tracks tracks;
	struct track_ends ends;
	struct event event;      /* read last */
	VEC(struct call_step) steps;
	size_t next;             /* of steps: not given yet */
	const struct library_range *range; /* where the last function was; NULL: none yet */
	unsigned kinds;
	bool full;               /* no event may be read before the steps are given */
	bool over, broken;
	int failed;              /* -errno, and why */
	struct err err;
	struct brace_call call;
	struct brace_columns into; /* the members of `call` */
	/* of events, made at need */
	const struct call_step *given; /* what next() gave; NULL: nothing */
	struct library_formats formats;
	struct event_texts *texts;
	VEC(struct library_slot { struct brace_value value; VEC(char) text; }) slots;
	char *arguments;
};

/* --- reading --------------------------------------------------------------------------------- */

/* A step's event is valid until the next one is read. */
static bool has_event(const struct call_step *s)
{
	return s->kind == CALL_EVENT || (s->flags & CALL_ARGUMENTS);
}

/* The tracks' sink: steps wait until the program asks for them. */
static void take_step(void *arg, const struct call_step *s)
{
	struct brace_calls *c = arg;

	*vec_add(&c->steps) = *s;
	c->full |= has_event(s);
}

/* 1: steps are there, or more events; 0: the end; -errno. */
static int read_event(struct brace_calls *c)
{
	int r = c->source->ops->next(c->source, &c->event, &c->err);

	if (r < 0)
		return r;
	if (!r) {
		c->over = true;
		track_ends_all(&c->ends, &c->tracks, take_step, c);
		return 0;
	}
	/* Only a broken file has records of a thread that its table lacks. */
	if (c->event.thread >= c->t->info->threads.n)
		return 1;
	track_ends_event(&c->ends, &c->event);
	tracks_feed(&c->tracks, tracks_lane(&c->tracks, c->event.thread), &c->event, take_step, c);
	return 1;
}

/* Fills c->steps anew; none are left at the end. Damage shows when the steps before it are
 * given. */
static int fill_steps(struct brace_calls *c)
{
	int r = 1;

	c->steps.n = c->next = 0;
	if (c->failed) {
		*library_error() = c->err;
		return c->failed;
	}
	c->full = false;
	while (r > 0 && !c->over && !c->full && c->steps.n < BATCH)
		r = read_event(c);
	if (r < 0) {
		c->failed = r;
		if (!c->steps.n)
			*library_error() = c->err;
	}
	return r < 0 && !c->steps.n ? r : 0;
}

/* --- records --------------------------------------------------------------------------------- */

/* The function's number in the library's table; 0: it is not known. The range of the last one is
 * looked at first: calls come in clusters. */
static uint32_t number_of(struct brace_calls *c, const struct call_step *s)
{
	uint32_t image = c->t->info->threads.at[s->thread].image;
	const struct library_range *r = c->range;

	if (__builtin_expect(!r || r->image != image || s->fn - r->first_id >= r->n, 0)) {
		r = library_range_of(c->t, image, s->fn);
		if (!r)
			return 0;
		c->range = r;
	}
	return r->number + (s->fn - r->first_id);
}

/* The library's number of the event that the step is of. */
static uint32_t event_of(const struct brace_calls *c, const struct call_step *s)
{
	uint32_t index = s->event->fn;

	return index < c->t->events.n ? c->t->events.at[index] : LIBRARY_NO_EVENT;
}

static const uint8_t kind_of[CALL_EVENT + 1] = {
	[CALL_ENTER] = BRACE_CALL_ENTER, [CALL_LEAVE] = BRACE_CALL_LEAVE,
	[CALL_ONLY] = BRACE_CALL_ONLY, [CALL_SPAN] = BRACE_CALL_WHOLE,
	[CALL_LOST] = BRACE_CALL_LOST, [CALL_EVENT] = BRACE_CALL_EVENT,
};
#define FLAGS (BRACE_FLAG_UNWOUND | BRACE_FLAG_DOUBTFUL | BRACE_FLAG_TAIL | BRACE_FLAG_UNFINISHED | \
	       BRACE_FLAG_VALUE | BRACE_FLAG_HANDLER | BRACE_FLAG_ARGUMENTS)
/* Flags of the interface have the values of steps' flags. */
#define SAME(flag) _Static_assert((int)BRACE_FLAG_##flag == (int)CALL_##flag, #flag)
SAME(UNWOUND);
SAME(DOUBTFUL);
SAME(TAIL);
SAME(UNFINISHED);
SAME(VALUE);
SAME(HANDLER);
SAME(ARGUMENTS);

/* Duration and self time in nanoseconds. Of stamps of two CPUs the inner calls may seem to last
 * longer than the outer one: self time is never below 0. */
static inline __attribute__((always_inline)) void
times_of(const struct trace_clock *clock, const struct call_step *s, uint64_t *duration,
	 uint64_t *self)
{
	uint64_t begin, inside, ticks;

	*duration = *self = 0;
	if (s->kind != CALL_LEAVE && s->kind != CALL_SPAN)
		return;
	begin = s->kind == CALL_LEAVE ? s->begin : call_step_begin(s);
	ticks = s->tsc - begin;
	inside = s->kind == CALL_SPAN ? 0 : s->inside < ticks ? s->inside : ticks;
	*duration = *self = trace_clock_span_ns(clock, begin, ticks);
	if (inside)
		*self = trace_clock_span_ns(clock, begin + inside, ticks - inside);
}

/* A column that the caller did not ask for is NULL: `brace_calls_next()` has all of them, and a
 * program that only counts has few. */
#define PUT(column, value) do { if (to->column) to->column[k] = (value); } while (0)

static inline __attribute__((always_inline)) void
/* Inlined, as put_step() is: 20 million rows a second leave no time for a call of each. */
put_times(struct brace_calls *c, const struct call_step *s, const struct brace_columns *to,
	  size_t k)
{
	const struct trace_clock *clock = &c->t->info->clock;
	uint64_t duration, self;

	PUT(time, trace_clock_ns(clock, s->tsc));
	if (!to->duration && !to->self)
		return;
	times_of(clock, s, &duration, &self);
	PUT(duration, duration);
	PUT(self, self);
}

/* Puts the step into row k. False: it is not asked for, or of an event that the trace does not
 * describe, which has neither a name nor fields. A thread's number is checked where its event is
 * read (read_event()), so that it may be used as an index here. */
static inline __attribute__((always_inline)) bool
put_step(struct brace_calls *c, const struct call_step *s, const struct brace_columns *to, size_t k)
{
	bool call = s->kind != CALL_EVENT && s->kind != CALL_LOST;

	if (!(c->kinds >> kind_of[s->kind] & 1) ||
	    (s->kind == CALL_EVENT && event_of(c, s) == LIBRARY_NO_EVENT))
		return false;
	put_times(c, s, to, k);
	PUT(value, s->flags & CALL_VALUE && call ? s->value : 0);
	PUT(site, call ? trace_info_site(c->t->info, c->t->info->threads.at[s->thread].image,
					 s->site) : 0);
	PUT(count, s->kind == CALL_LOST ? s->count : 0);
	PUT(thread, s->thread);
	PUT(function, call ? number_of(c, s) : 0);
	PUT(event, s->kind == CALL_EVENT ? event_of(c, s) : 0);
	PUT(depth, s->depth);
	PUT(coroutine, s->track);
	PUT(cpu, s->cpu);
	PUT(kind, kind_of[s->kind]);
	PUT(flags, call ? (s->flags & FLAGS) | (s->flags & CALL_FLOAT ? BRACE_FLAG_FLOAT : 0) : 0);
	return true;
}

/* library_try()'s. */
static int fill_of(void *arg)
{
	return fill_steps(arg);
}

/* Makes sure that a step is there. 1; 0 at the end; -errno. */
static int have_step(struct brace_calls *c)
{
	int r;

	if (__builtin_expect(c->next < c->steps.n, 1))
		return 1;
	if (c->broken)
		return library_broken();
	r = library_try(fill_of, c, &c->broken);
	return r ? r : c->steps.n != 0;
}

/* The record is the cursor's own and changes with the next call. Questions about it (fields,
 * lines, arguments) are about c->given, which stays where it is until then. */
int brace_calls_next(struct brace_calls *c, const struct brace_call **call)
{
	int r;

	c->given = NULL;
	while ((r = have_step(c)) > 0) {
		const struct call_step *s = &c->steps.at[c->next++];

		if (put_step(c, s, &c->into, 0)) {
			c->given = s;
			*call = &c->call;
			return 1;
		}
	}
	return r;
}

/* Records before a failure are given; the next call has the failure. */
ssize_t brace_calls_columns(struct brace_calls *c, const struct brace_columns *to, size_t n)
{
	struct brace_columns known;
	size_t k = 0;
	int r = library_options(&known, sizeof(known), to);

	if (r)
		return r;
	c->given = NULL;
	while (k < n && (r = have_step(c)) > 0)
		for (; k < n && c->next < c->steps.n; c->next++)
			k += put_step(c, &c->steps.at[c->next], &known, k);
	return k || r >= 0 ? (ssize_t)k : r;
}

/* --- open and close -------------------------------------------------------------------------- */

struct calls_opening {
	struct brace_trace *t;
	const struct brace_part *part;
	struct brace_calls *made;
};

/* Nothing of *o is kept but the trace, which counts its users. */
static int open_calls(void *arg)
{
	struct calls_opening *o = arg;
	struct brace_calls *c = mem_zalloc(sizeof(*c));
	struct brace_call *call = &c->call;
	int r = library_spec(o->part, &c->spec);

	if (!r) {
		c->source = excerpt_source_of(&c->spec, o->t->reader, library_error());
		r = c->source ? 0 : -library_error()->code;
	}
	if (r) {
		excerpt_spec_free(&c->spec);
		free(c);
		return r;
	}
	c->t = library_trace_keep(o->t);
	c->kinds = o->part->kinds ? o->part->kinds : ~0u;
	c->into = (struct brace_columns){
		sizeof(c->into), &call->time, &call->duration, &call->self, &call->value,
		&call->site, &call->count, &call->thread, &call->function, &call->event,
		&call->depth, &call->coroutine, &call->cpu, &call->kind, &call->flags,
	};
	sites_init(&c->sites, c->t->info);
	tracks_init(&c->tracks, c->t->info, &c->sites);
	o->made = c;
	return 0;
}

/* A struct of the caller's may be of an older or a newer libbrace: library_options() takes the
 * members that both know. */
int brace_calls_open(struct brace_trace *t, const struct brace_part *part,
		     struct brace_calls **out)
{
	struct brace_part known;
	struct calls_opening o = { .t = t, .part = &known };
	int r = library_options(&known, sizeof(known), part);

	if (!r)
		r = library_try(open_calls, &o, NULL);
	*out = r ? NULL : o.made;
	return r;
}

/* A broken cursor is not freed: its data may be half changed (base/mem.h). */
void brace_calls_close(struct brace_calls *c)
{
	if (!c || c->broken)
		return;
	tracks_free(&c->tracks);
	sites_free(&c->sites);
	track_ends_free(&c->ends);
	c->source->ops->close(c->source);
	excerpt_spec_free(&c->spec);
	vec_free(&c->steps);
	library_formats_free(&c->formats);
	event_texts_free(c->texts);
	for (size_t i = 0; i < c->slots.n; i++)
		vec_free(&c->slots.at[i].text);
	vec_free(&c->slots);
	free(c->arguments);
	brace_trace_close(c->t);
	free(c);
}

/* --- events ---------------------------------------------------------------------------------- */

/* Runs what(c) if c stands on a record that says `wanted`. False: no, or no memory. */
static bool ask_record(struct brace_calls *c, bool wanted, int (*what)(void *arg), void *arg)
{
	if (!wanted) {
		err_set(library_error(), EINVAL, "the record has nothing of that sort");
		return false;
	}
	return !(c->broken ? library_broken() : library_try(what, arg, &c->broken));
}

static bool on_event(const struct brace_calls *c)
{
	return c->given && c->given->kind == CALL_EVENT;
}

struct calls_question {
	struct brace_calls *c;
	uint32_t i;
	const char *name;
	const struct brace_value *value;
	const char *text;
};

/* Copies the text, with a NUL. */
static void keep_text(struct library_slot *slot, const char *text, size_t n)
{
	slot->text.n = 0;
	vec_reserve(&slot->text, n + 1);
	memcpy(slot->text.at, text, n);
	slot->text.at[n] = '\0';
	slot->value = (struct brace_value){ BRACE_TYPE_TEXT, 0, slot->text.at, n };
}

/* Field i of the record. A text is copied, since it has to end with a NUL and the event's bytes
 * go with the next event. */
static int find_value(void *arg)
{
	struct calls_question *a = arg;
	struct brace_calls *c = a->c;
	const struct event_format *format = library_format(&c->formats, c->t->info, c->call.event);
	const struct event *e = c->given->event;
	struct library_slot *slot;
	struct event_value v;

	if (!format || a->i >= format->n)
		return err_set(library_error(), ENOENT, "the event has no field %u", a->i);
	/* Values that were given stay where they are: their slots do not move. */
	if (!c->slots.n) {
		vec_reserve(&c->slots, 256);
		memset(c->slots.at, 0, c->slots.cap * sizeof(*c->slots.at));
		c->slots.n = c->slots.cap;
	}
	if (a->i >= c->slots.n)
		return err_set(library_error(), ENOENT, "the event has more than %zu fields",
			       c->slots.n);
	slot = &c->slots.at[a->i];
	v = event_value_in(e->payload, e->count, &format->fields[a->i]);
	if (v.kind == EVENT_VALUE_TEXT)
		keep_text(slot, v.text, v.text_bytes);
	else
		slot->value = (struct brace_value){
			v.kind == EVENT_VALUE_NUMBER ? BRACE_TYPE_INT : BRACE_TYPE_NULL, v.number,
			NULL, 0
		};
	a->value = &slot->value;
	return 0;
}

/* The value and its text are valid until the next record. */
const struct brace_value *brace_calls_field(struct brace_calls *c, uint32_t i)
{
	struct calls_question a = { .c = c, .i = i };

	return ask_record(c, on_event(c), find_value, &a) ? a.value : NULL;
}

/* The first field of that name. */
static int find_name(void *arg)
{
	struct calls_question *a = arg;
	const struct event_format *format =
		library_format(&a->c->formats, a->c->t->info, a->c->call.event);

	for (a->i = 0; format && a->i < format->n; a->i++)
		if (!strcmp(format->fields[a->i].name, a->name))
			return 0;
	return err_at(library_error(), ENOENT, a->name, 0, "%s:%s has no such field",
		      a->c->t->info->events.at[a->c->call.event].system,
		      a->c->t->info->events.at[a->c->call.event].name);
}

/* The number of a field is one of its event, not of the record: a program asks once and keeps
 * it. */
int brace_calls_find(struct brace_calls *c, const char *field)
{
	struct calls_question a = { .c = c, .name = field };

	return ask_record(c, on_event(c), find_name, &a) ? (int)a.i : -library_error()->code;
}

/* The texts' tables are made at the first question. */
static int make_line(void *arg)
{
	struct calls_question *a = arg;

	if (!a->c->texts)
		a->c->texts = event_texts_new(a->c->t->info);
	a->text = event_text(a->c->texts, a->c->given->event, 0);
	return 0;
}

/* The text that `brace replay` prints behind the event's name; valid until the next question of
 * this sort. */
const char *brace_calls_line(struct brace_calls *c)
{
	struct calls_question a = { .c = c };

	return ask_record(c, on_event(c), make_line, &a) ? a.text : NULL;
}

/* The text of the last question goes. */
static int make_arguments(void *arg)
{
	struct calls_question *a = arg;

	free(a->c->arguments);
	a->c->arguments = NULL;
	a->c->arguments = arguments_text(a->c->t->info, a->c->given->event);
	a->text = a->c->arguments;
	return a->text ? 0 : err_set(library_error(), ENODATA,
				     "the arguments of the function are not known");
}

/* The arguments of a call stand in its entry alone: a record of a return has none. */
const char *brace_calls_arguments(struct brace_calls *c)
{
	struct calls_question a = { .c = c };

	return ask_record(c, c->given && c->given->kind != CALL_EVENT && has_event(c->given),
			  make_arguments, &a) ? a.text : NULL;
}
