#include "report/tally.h"

#include <string.h>

#include "shared/record.h"

void tally_init(struct tally *t, const struct trace_info *info)
{
	memset(t, 0, sizeof(*t));
	t->info = info;
	sites_init(&t->sites, info);
}

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->functions.n; i++)
		histogram_free(&t->functions.at[i].durations);
	for (size_t i = 0; i < t->maps.n; i++)
		free(t->maps.at[i].slot);
	vec_free(&t->functions);
	vec_free(&t->maps);
	vec_free(&t->spans);
	sites_free(&t->sites);
}

/* Where the index of fn's sums is kept. */
static uint32_t *slot_for(struct tally *t, uint32_t fn)
{
	struct tally_map *m = t->map;

	if (fn >= m->n) {
		size_t n = fn + 1 > 2 * m->n ? (size_t)fn + 1 : 2 * m->n;

		m->slot = mem_realloc(m->slot, n, sizeof(*m->slot));
		memset(m->slot + m->n, 0, (n - m->n) * sizeof(*m->slot));
		m->n = n;
	}
	return &m->slot[fn];
}

static struct tally_function *add_function(struct tally *t, uint32_t fn)
{
	bool known = fn <= RECORD_ID_MAX && trace_info_function(t->info, t->image, fn, NULL);
	uint32_t *slot = known ? slot_for(t, fn) : &t->map->unknown;

	if (!*slot) {
		*vec_add(&t->functions) = (struct tally_function){
			.image = t->image, .fn = known ? fn : FN_NONE, .min = UINT64_MAX };
		*slot = (uint32_t)t->functions.n;
	}
	return &t->functions.at[*slot - 1];
}

static inline struct tally_function *function_of(struct tally *t, uint32_t fn)
{
	if (__builtin_expect(fn < t->map->n && t->map->slot[fn], 1))
		return &t->functions.at[t->map->slot[fn] - 1];
	return add_function(t, fn);
}

static inline void add_call(struct tally_function *f, uint64_t ticks, uint64_t self)
{
	f->calls++;
	f->timed++;
	if (!f->active)
		f->total += ticks;
	f->self += self;
	f->sum += ticks;
	if (ticks < f->min)
		f->min = ticks;
	if (ticks > f->max)
		f->max = ticks;
	histogram_add(&f->durations, ticks);
}

static void add_span(struct tally *t, const struct call_step *s)
{
	*vec_add(&t->spans) = (struct tally_span){ s->begin, s->tsc, s->fn };
}

static inline void take_step(void *arg, const struct call_step *s)
{
	struct tally *t = arg;
	struct tally_function *f;

	if (s->kind == CALL_ENTER) {
		function_of(t, s->fn)->active++;
	} else if (s->kind == CALL_LEAVE) {
		f = function_of(t, s->fn);
		f->active--;
		add_call(f, s->tsc - s->begin, s->tsc - s->begin - s->inside);
	} else if (s->kind == CALL_ONLY) {
		function_of(t, s->fn)->calls++;
	} else if (s->kind == CALL_SPAN) {
		add_span(t, s);
	}
}

void tally_begin(struct tally *t, uint32_t thread)
{
	uint32_t image = t->info->threads.at[thread].image;

	t->image = image < t->info->images.n ? image : (uint32_t)t->info->images.n;
	while (t->maps.n <= t->image)
		*vec_add(&t->maps) = (struct tally_map){ 0 };
	t->map = &t->maps.at[t->image];
	t->spans.n = 0;
	t->last = (struct event){ 0 };
	calls_init(&t->calls, t->info, sites_map(&t->sites, t->image), t->image);
}

void tally_events(struct tally *t, const struct event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		calls_feed(&t->calls, &events[i], take_step, t);
	if (n)
		t->last = events[n - 1];
}

/* Spans are told at their ends, inner ones first. Read backwards they are the calls in the
 * order outer, last inner, ..., so that a stack of those still around gives nesting. */
static void tally_spans(struct tally *t)
{
	VEC(struct open_span { struct tally_span span; uint64_t inside; }) open = { 0 };

	for (size_t i = t->spans.n;; ) {
		const struct tally_span *s = i ? &t->spans.at[i - 1] : NULL;

		while (open.n && (!s || open.at[open.n - 1].span.begin > s->begin)) {
			const struct open_span *o = &open.at[--open.n];
			uint64_t ticks = o->span.end - o->span.begin;
			struct tally_function *f = function_of(t, o->span.fn);

			f->active--;
			add_call(f, ticks, ticks - (o->inside < ticks ? o->inside : ticks));
		}
		if (!s)
			break;
		i--;
		if (open.n)
			open.at[open.n - 1].inside += s->end - s->begin;
		function_of(t, s->fn)->active++;
		*vec_add(&open) = (struct open_span){ *s, 0 };
	}
	vec_free(&open);
}

void tally_end(struct tally *t)
{
	calls_end(&t->calls, &t->last, take_step, t);
	tally_spans(t);
	t->counts.unwound += t->calls.counts.unwound;
	t->counts.orphans += t->calls.counts.orphans;
	t->counts.lost += t->calls.counts.lost;
	calls_free(&t->calls);
}

void tally_merge(struct tally_function *into, const struct tally_function *from)
{
	into->calls += from->calls;
	into->timed += from->timed;
	into->total += from->total;
	into->self += from->self;
	into->sum += from->sum;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	histogram_merge(&into->durations, &from->durations);
}
