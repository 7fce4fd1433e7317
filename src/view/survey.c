/* SPDX-License-Identifier: MIT */
/* Threads are followed one after another, each by itself as in a summary, so that durations are the
 * report's. Called on the thread that loads. Fails as its input does. */
#include "view/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/table_hash.h"
#include "report/gathered.h"
#include "report/thread_calls.h"
#include "trace/overloads.h"

/* An open call: when it began, as it was recorded. */
struct survey_open { uint64_t tsc; uint32_t row; };
typedef VEC(struct survey_open) survey_stack;

struct survey_reading {
	struct survey *s;
	struct overloads overloads;
	VEC(survey_stack) stacks; /* by track */
	uint32_t thread, image; /* the thread whose call it is, in whose lane it is drawn */
	bool coroutine;         /* the thread that is read was on a stack that is not its own */
};

/* --- rows ------------------------------------------------------------------------------------- */

/* Odd, so that it is never 0, which is no key of the map, and steps of two stay odd. */
static uint64_t hash_of(const char *name, const char *module)
{
	return table_hash_text(table_hash_text(0, name), module) | 1;
}

/* The next hash is tried where two rows have the same. *at: where it is, or is to be. Names decide,
 * not hashes: two texts may have one. */
static uint32_t look_up(const struct survey *s, const char *name, const char *module, uint64_t *at)
{
	uint64_t row;

	for (*at = hash_of(name, module);
	     (row = number_map_get(&s->names, *at)) != NUMBER_NONE; *at += 2)
		if (!strcmp(s->rows.at[row].name, name) && !strcmp(s->rows.at[row].module, module))
			return (uint32_t)row;
	return UINT32_MAX;
}

uint32_t survey_find(const struct survey *s, const char *name, const char *module)
{
	uint64_t at;

	return look_up(s, name, module, &at);
}

/* Takes the name over. */
static uint32_t row_named(struct survey *s, char *name, const char *module)
{
	uint64_t at;
	uint32_t row = look_up(s, name, module, &at);

	if (row != UINT32_MAX) {
		free(name);
		return row;
	}
	row = (uint32_t)s->rows.n;
	*vec_add(&s->rows) = (struct survey_row){ .name = name, .module = module };
	number_map_set(&s->names, at, row);
	return row;
}

/* The row of a function of the image; known ones are found by their number, without their name.
 * Overloads have rows of their own, as in the report. + 1, since the map does not keep a key of
 * 0. */
static uint32_t row_of(struct survey_reading *r, uint32_t fn)
{
	struct survey *s = r->s;
	const uint64_t key = ((uint64_t)r->image << 32 | fn) + 1;
	const struct trace_module *m = NULL;
	const struct trace_function *f;
	uint64_t row = number_map_get(&s->functions, key);
	const char *file = "";
	char *name;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	f = trace_info_function(s->info, r->image, fn, &m);
	name = overloads_row_text(&r->overloads, f ? m : NULL, f, &file);
	row = row_named(s, name, file);
	/* Ids that nothing defines are those of a damaged file, which has any number of them. */
	if (f)
		number_map_set(&s->functions, key, row);
	return (uint32_t)row;
}

/* --- spans ------------------------------------------------------------------------------------ */

/* A short call beside a short one becomes part of it. A call of a grain or more keeps a span of its
 * own, so that it is seen by itself and can be chosen. SURVEY_MANY stands where the joined calls
 * are of several functions. */
static bool joins(const struct survey *s, struct survey_span *last, const struct survey_span *span)
{
	if (span->end - span->begin >= s->grain || span->begin > last->end + s->grain ||
	    span->begin < last->begin || (last->calls == 1 && last->end - last->begin >= s->grain))
		return false;
	last->end = span->end > last->end ? span->end : last->end;
	last->calls += span->calls;
	last->row = last->row == span->row ? last->row : SURVEY_MANY;
	return true;
}

/* Spans come by their ends, so a depth's spans are in order of time. Depths beyond SURVEY_DEPTH are
 * not drawn. SURVEY_SPANS bounds the memory: threads and depths are the program's, and each could
 * have as many spans as there are grains. `cut` lets the screen say so. */
static void add_span(struct survey_reading *r, unsigned depth, struct survey_span span)
{
	struct survey *s = r->s;
	struct survey_lane *l = &s->lanes[r->thread];
	survey_spans *spans;

	if (depth >= SURVEY_DEPTH || span.end < s->from || span.begin > s->to)
		return;
	spans = &l->depths[depth];
	if (spans->n && joins(s, &spans->at[spans->n - 1], &span))
		return;
	if (s->spans == SURVEY_SPANS) {
		s->cut = true;
		return;
	}
	s->spans++;
	*vec_add(spans) = span;
	l->n = l->n > depth ? l->n : depth + 1;
}

const struct survey_span *survey_at(const struct survey *s, uint32_t thread, unsigned depth,
				    uint64_t ns)
{
	const survey_spans *spans = &s->lanes[thread].depths[depth];
	size_t n = vec_bisect(spans, span, span->begin <= ns);

	return n && spans->at[n - 1].end >= ns ? &spans->at[n - 1] : NULL;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A time of the trace in ns of CLOCK_MONOTONIC. */
static uint64_t ns_at(const struct survey *s, uint64_t tsc)
{
	return trace_clock_ns(&s->info->clock, tsc);
}

/* A length in ns. */
static uint64_t ns_of(const struct survey *s, uint64_t ticks)
{
	return trace_clock_delta_ns(&s->info->clock, ticks);
}

/* Counts the call as `brace report --histogram` does: without what its thread slept, if the trace
 * tells it. begin: when it began as it is drawn. powers[0] has 0 and 1 ns, powers[k] those from 2^k
 * to less than 2^(k+1). */
static void add_duration(struct survey_reading *r, uint32_t row, uint64_t begin,
			 const struct call_step *step)
{
	struct survey_row *of = &r->s->rows.at[row];
	uint64_t from = call_step_begin(step);
	uint64_t ns = ns_of(r->s, step->tsc > from ? step->tsc - from : 0);

	of->powers[ns < 2 ? 0 : 63 - __builtin_clzll(ns)]++;
	if (of->calls++ && ns <= of->slowest)
		return;
	of->slowest = ns;
	of->slowest_begin = ns_at(r->s, begin);
	of->slowest_end = ns_at(r->s, step->tsc);
	of->slowest_thread = r->thread;
}

/* A track's stack; valid until another track is asked for. */
static survey_stack *stack_of(struct survey_reading *r, uint32_t track)
{
	while (r->stacks.n <= track)
		*vec_add(&r->stacks) = (survey_stack){ 0 };
	return &r->stacks.at[track];
}

/* Ends the call at the step's depth, and those above it whose ends were lost. An unfinished call is
 * drawn, but has no duration. The span ends a duration behind its beginning as it was recorded,
 * sleep included: a lane shows time that passed. */
static void end_call(struct survey_reading *r, survey_stack *stack, const struct call_step *s)
{
	const struct survey_open open = stack->at[s->depth];
	uint64_t begin = ns_at(r->s, open.tsc);
	uint64_t ticks = s->tsc > open.tsc ? s->tsc - open.tsc : 0;

	stack->n = s->depth;
	add_span(r, s->depth,
		 (struct survey_span){ begin, begin + ns_of(r->s, ticks), open.row, 1 });
	if (!(s->flags & CALL_UNFINISHED))
		add_duration(r, open.row, open.tsc, s);
}

/* Whole calls that come at their end (CALL_SPAN) are counted, but have no place in lanes. The
 * stack's depth follows the steps': an entry at a depth that is open already ends what lost its
 * end. */
static void take_step(void *arg, const struct call_step *s)
{
	struct survey_reading *r = arg;
	survey_stack *stack = stack_of(r, s->track);

	r->coroutine |= s->track != 0;
	r->thread = s->thread;
	if (s->kind == CALL_LEAVE && stack->n > s->depth) {
		end_call(r, stack, s);
	} else if (s->kind == CALL_ENTER) {
		if (stack->n > s->depth)
			stack->n = s->depth;
		*vec_add(stack) = (struct survey_open){ s->tsc, row_of(r, s->fn) };
	} else if (s->kind == CALL_SPAN) {
		add_duration(r, row_of(r, s->fn), s->begin, s);
	}
}

/* One thread from its first event to its last; stacks are empty between two threads. */
static int read_thread(struct survey_reading *r, const struct summary_input *in, uint32_t thread,
		       struct event *events, struct err *err)
{
	int e;

	r->image = in->info->threads.at[thread].image;
	r->coroutine = false;
	e = thread_calls_read(in, thread, events, take_step, r, err);
	for (size_t i = 0; i < r->stacks.n; i++)
		r->stacks.at[i].n = 0;
	return e;
}

/* coroutines: as gathered_new() takes it. On success coroutines[] says of which threads calls ran
 * on stacks that are not their own. A failure is negative; survey_free() frees what was made. */
static int read_all(const struct summary_input *in, uint64_t from_ns, uint64_t to_ns,
		    bool *coroutines, struct survey *out, struct err *err)
{
	struct event *events = mem_realloc(NULL, THREAD_CALLS_EVENTS, sizeof(*events));
	struct survey_reading r = { .s = out };
	int e = 0;

	*out = (struct survey){ .info = in->info, .from = from_ns, .to = to_ns };
	out->grain = (to_ns - from_ns) / SURVEY_GRAINS;
	out->lanes = mem_zalloc((in->info->threads.n + 1) * sizeof(*out->lanes));
	/* In the order of threads: rows get the same numbers at each reading. */
	for (uint32_t i = 0; i < in->info->threads.n && e >= 0; i++) {
		e = read_thread(&r, in, i, events, err);
		coroutines[i] = r.coroutine;
	}
	for (size_t i = 0; i < r.stacks.n; i++)
		vec_free(&r.stacks.at[i]);
	vec_free(&r.stacks);
	overloads_free(&r.overloads);
	free(events);
	return e < 0 ? e : 0;
}

/* A coroutine goes on on another thread: read thread by thread its calls are halves. Such a trace
 * is read a second time, with those threads' events gathered in the order of time. */
int survey_make(const struct summary_input *in, uint64_t from_ns, uint64_t to_ns,
		struct survey *out, struct err *err)
{
	bool *coroutines = mem_zalloc(in->info->threads.n + 1);
	int e = read_all(in, from_ns, to_ns, coroutines, out, err);
	struct gathered *g = e ? NULL : gathered_new(in, coroutines);

	if (g) {
		const struct summary_input gathered = gathered_input(g);

		survey_free(out);
		e = read_all(&gathered, from_ns, to_ns, coroutines, out, err);
		gathered_free(g);
	}
	free(coroutines);
	return e;
}

/* Rows of both are the same: the input is, and rows are numbered in its order. */
void survey_take_lanes(struct survey *s, struct survey *from)
{
	struct survey_lane *lanes = s->lanes;

	s->lanes = from->lanes;
	s->from = from->from;
	s->to = from->to;
	s->grain = from->grain;
	s->spans = from->spans;
	s->cut = from->cut;
	from->lanes = lanes;
}

void survey_free(struct survey *s)
{
	for (size_t i = 0; s->lanes && i < s->info->threads.n; i++)
		for (unsigned d = 0; d < SURVEY_DEPTH; d++)
			vec_free(&s->lanes[i].depths[d]);
	free(s->lanes);
	for (size_t i = 0; i < s->rows.n; i++)
		free(s->rows.at[i].name);
	vec_free(&s->rows);
	number_map_free(&s->functions);
	number_map_free(&s->names);
	*s = (struct survey){ 0 };
}
