/* SPDX-License-Identifier: MIT */
#include "instance/record_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/record.h"
#include "trace/unpack.h"

enum traced { TRACED_UNKNOWN, TRACED_YES, TRACED_NO };

struct record_filter *record_filter_new(const struct settings *s, bool alone)
{
	struct record_filter *v = mem_zalloc(sizeof(*v));

	v->graph = s->graph;
	v->others_before = !alone;
	settings_copy(&v->settings, s);
	return v;
}

static void forget_functions(struct record_filter *s)
{
	for (size_t i = 0; i < s->images.n; i++)
		vec_free(&s->images.at[i].traced);
	vec_free(&s->images);
}

bool record_filter_configure(struct record_filter *s, const struct settings *settings)
{
	if (s->graph != settings->graph)
		return false;
	forget_functions(s);
	settings_free(&s->settings);
	settings_copy(&s->settings, settings);
	return true;
}

void record_filter_free(struct record_filter *s)
{
	if (!s)
		return;
	if (s->begun) {
		tracks_free(&s->tracks);
		sites_free(&s->sites);
	}
	forget_functions(s);
	settings_free(&s->settings);
	chunk_put(s->one);
	free(s);
}

static void begin(struct record_filter *s, const struct trace_info *info)
{
	if (s->begun)
		return;
	sites_init(&s->sites, info);
	tracks_init(&s->tracks, info, &s->sites);
	s->begun = true;
}

/* --- which functions ---------------------------------------------------------------- */

static bool look_up(const struct record_filter *s, const struct trace_info *info, uint32_t image, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(info, image, fn, &m);
	char plain[512];

	if (!f)
		return true; /* not named yet: rather one too many */
	if (f->name)
		return settings_trace(&s->settings, m->strings.at + f->name, m->name);
	trace_function_name(m, f, plain, sizeof(plain));
	return settings_trace(&s->settings, plain, m->name);
}

static bool is_traced(struct record_filter *s, const struct trace_info *info, uint32_t image, uint32_t fn)
{
	struct record_filter_image *i;

	if (image >= info->images.n || fn > RECORD_ID_MAX)
		return false;
	while (s->images.n <= image)
		*vec_add(&s->images) = (struct record_filter_image){ 0 };
	i = &s->images.at[image];
	while (i->traced.n <= fn)
		*vec_add(&i->traced) = TRACED_UNKNOWN;
	if (i->traced.at[fn] == TRACED_UNKNOWN)
		i->traced.at[fn] = look_up(s, info, image, fn) ? TRACED_YES : TRACED_NO;
	return i->traced.at[fn] == TRACED_YES;
}

/* --- records ------------------------------------------------------------------------ */

/* One chunk on its way through. */
struct pass {
	struct record_filter *s;
	const struct trace_info *info;
	uint32_t image;
	struct lane *lane;
	struct chunk *out;
	bool ended, ended_ours; /* by this exit: a call; one of the instance's */
};

static bool ours(const struct pass *p, uint32_t fn)
{
	return is_traced(p->s, p->info, p->image, fn);
}

static void put(struct pass *p, const uint64_t *words, size_t n)
{
	chunk_add(p->out, words, n);
}

static void note_end(void *arg, const struct call_step *step)
{
	struct pass *p = arg;

	if (step->kind != CALL_LEAVE || step->flags & CALL_UNWOUND)
		return;
	p->ended = true;
	p->ended_ours = p->ended_ours || ours(p, step->fn);
}

static void feed(struct pass *p, const struct event *e)
{
	p->ended = p->ended_ours = false;
	tracks_feed(&p->s->tracks, p->lane, e, note_end, p);
}

static void take_entry(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	feed(p, e);
	if (ours(p, e->fn))
		put(p, words, n);
}

/* What it shares its exit with may be another's: then it is an entry to us. */
static void take_tail(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const struct calls *c;
	bool shares = false;
	uint64_t entry;

	feed(p, e);
	if (!ours(p, e->fn))
		return;
	c = &p->lane->now->calls;
	for (size_t i = calls_top(c); i + 1 < c->n; i++)
		shares = shares || ours(p, c->at[i].fn);
	shares = shares || (c->n && c->at[c->n - 1].fn == e->fn && c->at[c->n - 1].begin != e->tsc);
	entry = (words[0] & ~UINT64_C(3)) | RECORD_ENTRY;
	put(p, shares ? words : &entry, n);
}

/* With what it returned only if that is the instance's, too. */
static bool union_value(const struct pass *p, const struct event *e)
{
	return settings_values(&p->s->settings) || !(e->flags & EVENT_VALUE);
}

static void take_exit(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const uint64_t plain = record_word(words[0] >> (64 - RECORD_TSC_BITS), e->site, RECORD_EXIT);

	feed(p, e);
	if (!(p->ended ? p->ended_ours : !p->s->others_before))
		return;
	if (union_value(p, e))
		put(p, words, n);
	else
		put(p, &plain, 1);
}

static void take_span(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const uint64_t plain[3] = {
		record_word(words[0] >> (64 - RECORD_TSC_BITS), record_event_id(2, RECORD_EVENT_SPAN), RECORD_EVENT), words[1], words[2],
	};

	if (!ours(p, e->fn))
		return;
	if (union_value(p, e))
		put(p, words, n);
	else
		put(p, plain, 3);
}

static void take_by_function(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	if (ours(p, e->fn))
		put(p, words, n);
}

/* A call of another's that left its stack does not come back for us. */
static void take_switch(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const struct calls *c = &p->lane->now->calls;
	uint64_t copy[1 + RECORD_PAYLOAD_MAX];
	bool mine = false;

	memcpy(copy, words, n * sizeof(*words));
	for (size_t i = calls_top(c); i < c->n; i++)
		mine = mine || ours(p, c->at[i].fn);
	if (!mine)
		copy[1] &= ~(uint64_t)RECORD_SWITCH_FOLLOWED;
	feed(p, e);
	put(p, copy, n);
}

/* Of the calls that an unwinder leaves, from the innermost on, those that are the instance's; a call and what it
 * went on to by jumps are one. */
static uint64_t count_unwound(const struct pass *p, uint64_t n)
{
	const struct calls *c = &p->lane->now->calls;
	size_t i = c->unwinder < c->n ? c->unwinder : c->n;
	uint64_t count = 0;

	while (i && c->at[i - 1].flags & CALL_DEAD)
		i--;
	for (; n && i; n--) {
		bool mine = false;

		do
			mine = ours(p, c->at[--i].fn) || mine;
		while (i && c->at[i].flags & CALL_TAIL);
		count += mine;
	}
	return count;
}

static void take_unwind(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const uint64_t copy[2] = { words[0], count_unwound(p, e->count) };

	feed(p, e);
	if (copy[1])
		put(p, copy, 2);
}

static void take_place(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	feed(p, e);
	put(p, words, n);
}

static void take(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	put(p, words, n);
}

typedef void taker(struct pass *p, const struct event *e, const uint64_t *words, size_t n);

static taker *const of_graph[] = {
	[EVENT_ENTRY] = take_entry, [EVENT_TAIL] = take_tail, [EVENT_EXIT] = take_exit, [EVENT_SPAN] = take_span,
	[EVENT_ENTRY_ONLY] = take_by_function, [EVENT_UNWIND] = take_unwind, [EVENT_SWITCH] = take_switch,
	[EVENT_MARK] = take_place, [EVENT_AT] = take_place, [EVENT_SLEPT] = take, [EVENT_TRACE] = take,
};
static taker *const of_function[] = { [EVENT_CALL] = take_by_function, [EVENT_TRACE] = take };

static void sift_record(struct pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	taker *const *takers = p->s->graph ? of_graph : of_function;
	size_t kinds = p->s->graph ? sizeof(of_graph) / sizeof(*of_graph) : sizeof(of_function) / sizeof(*of_function);

	if (e->kind < kinds && takers[e->kind])
		takers[e->kind](p, e, words, n);
}

static void sift(struct pass *p, const struct chunk *c)
{
	struct unpack u = { .at = c->words, .tsc = c->near_tsc, .cpu = c->cpu, .thread = c->thread };
	const uint64_t *end = c->words + c->n;

	while (u.at < end) {
		const uint64_t *words = u.at;
		size_t n = 1 + record_payload(words[0]);
		struct event e;

		if (n > (size_t)(end - words))
			break;
		u.end = words + n;
		if (!unpack_next(&u, &e))
			put(p, words, n); /* a change of CPU */
		else
			sift_record(p, &e, words, n);
	}
}

struct chunk *record_filter_chunk(struct record_filter *s, const struct trace_info *info, const struct chunk *c)
{
	struct pass p = { .s = s, .info = info, .image = info->threads.at[c->thread].image };

	begin(s, info);
	p.lane = tracks_lane(&s->tracks, c->thread);
	p.out = chunk_like(c);
	if (c->lost && s->graph)
		feed(&p, &(struct event){ .kind = EVENT_LOST, .count = c->lost, .tsc = c->near_tsc, .thread = c->thread });
	sift(&p, c);
	return chunk_or_nothing(p.out);
}

const uint64_t *record_filter_record(struct record_filter *s, const struct trace_info *info, const struct event *e, const uint64_t *words)
{
	struct pass p = { .s = s, .info = info, .image = info->threads.at[e->thread].image };

	begin(s, info);
	if (!s->one)
		s->one = mem_zalloc(sizeof(*s->one) + (1 + RECORD_PAYLOAD_MAX) * sizeof(s->one->words[0]));
	atomic_init(&s->one->refs, 1);
	s->one->n = 0;
	p.out = s->one;
	p.lane = tracks_lane(&s->tracks, e->thread);
	if (words)
		sift_record(&p, e, words, 1 + record_payload(words[0]));
	else if (s->graph)
		feed(&p, e);
	return s->one->n ? s->one->words : NULL;
}
