/* SPDX-License-Identifier: MIT */
/* The filter behind buffer_resolve() and the triggers. It follows each thread's calls with
 * trace/tracks.h, because an exit record names a site and not a function: whose exit it is depends
 * on the calls that are open. Records are copied or left out; three kinds are rewritten (a tail
 * call whose caller is another's becomes an entry, values that the instance did not ask for are
 * cut, counts of unwound calls shrink). Nothing fails: a record that cannot be judged stays. */
#include "instance/record_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "image/conditions.h"
#include "shared/record.h"
#include "trace/unpack.h"

/* TRACED_IF: calls that satisfy the function's condition. */
enum traced { TRACED_UNKNOWN, TRACED_YES, TRACED_NO, TRACED_IF };

struct record_filter *record_filter_new(const struct settings *s, bool alone)
{
	struct record_filter *v = mem_zalloc(sizeof(*v));

	v->graph = settings_exits(s);
	v->others_before = !alone;
	settings_copy(&v->settings, s);
	return v;
}

static void forget_functions(struct record_filter *s)
{
	for (size_t i = 0; i < s->images.n; i++) {
		for (size_t k = 0; k < s->images.at[i].conditions.n; k++)
			free(s->images.at[i].conditions.at[k]);
		vec_free(&s->images.at[i].conditions);
		vec_free(&s->images.at[i].traced);
	}
	vec_free(&s->images);
}

bool record_filter_configure(struct record_filter *s, const struct settings *settings)
{
	if (s->graph != settings_exits(settings))
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
	for (size_t i = 0; i < s->arguments.n; i++)
		free(s->arguments.at[i]);
	vec_free(&s->arguments);
	settings_free(&s->settings);
	chunk_put(s->one);
	free(s);
}

/* The trackers need trace_info, which the constructor's callers do not have yet. */
static void begin_filter(struct record_filter *s, const struct trace_info *info)
{
	if (s->begun)
		return;
	sites_init(&s->sites, info);
	tracks_init(&s->tracks, info, &s->sites);
	s->begun = true;
}

/* --- which functions ---------------------------------------------------------------- */

/* Whether the settings select the function, by the name that filters see. */
static enum traced look_up_name(const struct record_filter *s, const struct trace_function *f,
				const struct trace_module *m, const char *name,
				struct filter_program **condition)
{
	const char *prototype = f->prototype ? m->strings.at + f->prototype : NULL;
	const struct function_pattern *p;
	struct err unfit;
	bool begins;

	if (!settings_trace(&s->settings, name, f->vaddr, m->name))
		return TRACED_NO;
	p = settings_condition_of(&s->settings, name, m->name, &begins);
	if (!p || begins)
		return TRACED_YES;
	/* Where a condition does not fit a function, its calls are not traced. */
	return condition_compile_recorded(p, name, prototype, condition, &unfit) == 0 ? TRACED_IF
										      : TRACED_NO;
}

static enum traced look_up(const struct record_filter *s, const struct trace_info *info,
			   uint32_t image, uint32_t fn, struct filter_program **condition)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(info, image, fn, &m);
	char plain[512];

	if (!f)
		return TRACED_YES; /* not named yet: rather one record too many */
	if (f->name)
		return look_up_name(s, f, m, m->strings.at + f->name, condition);
	trace_function_name(m, f, plain, sizeof(plain));
	return look_up_name(s, f, m, plain, condition);
}

/* look_up() with its answers kept, by image and id. Both numbers come from the program's records,
 * hence the check. */
static enum traced traced_of(struct record_filter *s, const struct trace_info *info, uint32_t image,
			     uint32_t fn)
{
	struct record_filter_image *i;

	if (image >= info->images.n || fn > RECORD_ID_MAX)
		return TRACED_NO;
	while (s->images.n <= image)
		*vec_add(&s->images) = (struct record_filter_image){ 0 };
	i = &s->images.at[image];
	while (i->traced.n <= fn) {
		*vec_add(&i->traced) = TRACED_UNKNOWN;
		*vec_add(&i->conditions) = NULL;
	}
	if (i->traced.at[fn] == TRACED_UNKNOWN)
		i->traced.at[fn] = (uint8_t)look_up(s, info, image, fn, &i->conditions.at[fn]);
	return (enum traced)i->traced.at[fn];
}

/* --- records ------------------------------------------------------------------------ */

/* One chunk on its way through. */
struct filter_pass {
	struct record_filter *s;
	const struct trace_info *info;
	uint32_t image;
	struct lane *lane;
	struct chunk *out;
	bool chunks; /* all that comes of a thread is passed on, not a record alone */
	bool ended, ended_ours; /* this exit ended a call; a call of the instance's */
};

static bool selects_function(const struct filter_pass *p, uint32_t fn)
{
	return traced_of(p->s, p->info, p->image, fn) != TRACED_NO;
}

/* Whether calls of the function are selected by their arguments. */
static bool has_condition(const struct filter_pass *p, uint32_t fn)
{
	return traced_of(p->s, p->info, p->image, fn) == TRACED_IF;
}

/* Whether the open call is the instance's. */
static bool is_ours(const struct filter_pass *p, const struct call_frame *f)
{
	return !(f->flags & CALL_OTHERS) && selects_function(p, f->fn);
}

/* Whether the call is the instance's. One whose arguments were lost is: rather one too many; so are
 * those that were recorded before other instances traced, for this condition alone. */
static bool selects_call(const struct filter_pass *p, const struct event *e)
{
	const struct trace_thread *t = &p->info->threads.at[e->thread];
	const struct condition_call call = { e->payload, e->count, t->comm, (int32_t)t->tid,
					     e->cpu };

	if (!has_condition(p, e->fn))
		return selects_function(p, e->fn);
	return !(e->flags & EVENT_ARGUMENTS) ||
	       condition_holds_recorded(p->s->images.at[p->image].conditions.at[e->fn], &call);
}

static void keep_words(struct filter_pass *p, const uint64_t *words, size_t n)
{
	chunk_add(p->out, words, n);
}

/* Keeps a call's record, behind its arguments if a condition has kept them back until now. */
static void keep_call(struct filter_pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	uint64_t before[1 + RECORD_PAYLOAD_MAX];
	unsigned payload = (unsigned)(e->count / 8);

	if (p->chunks && e->flags & EVENT_ARGUMENTS && payload < RECORD_PAYLOAD_MAX &&
	    has_condition(p, e->fn) && settings_args(&p->s->settings)) {
		before[0] = record_word(e->tsc,
					record_event_id(1 + payload, RECORD_EVENT_ARGUMENTS),
					RECORD_EVENT);
		before[1] = e->fn;
		memcpy(before + 2, e->payload, payload * sizeof(*before));
		keep_words(p, before, 2 + payload);
	}
	keep_words(p, words, n);
}

/* Marks the call that was just fed as somebody else's, so that its exit is, too. */
static void leave_out(struct filter_pass *p, const struct event *e)
{
	const struct calls *c = &p->lane->now->calls;

	if (c->n && c->at[c->n - 1].fn == e->fn && c->at[c->n - 1].begin == e->tsc)
		c->at[c->n - 1].flags |= CALL_OTHERS;
}

/* Notes whose call the exit record ended. A tail call ends with its caller, in one exit: one of the
 * instance's is enough. */
static void note_end(void *arg, const struct call_step *step)
{
	struct filter_pass *p = arg;

	if (step->kind != CALL_LEAVE || step->flags & CALL_UNWOUND)
		return;
	p->ended = true;
	p->ended_ours = p->ended_ours ||
			(!(step->flags & CALL_OTHERS) && selects_function(p, step->fn));
}

static void feed_event(struct filter_pass *p, const struct event *e)
{
	p->ended = p->ended_ours = false;
	tracks_feed(&p->s->tracks, p->lane, e, note_end, p);
}

static void take_entry(struct filter_pass *p, const struct event *e, const uint64_t *words,
		       size_t n)
{
	bool ours = selects_call(p, e);

	feed_event(p, e);
	if (ours)
		keep_call(p, e, words, n);
	else
		leave_out(p, e);
}

/* A tail call shares its exit with its caller. If no open call of that chain is the instance's, the
 * record becomes a plain entry: the exit will be this call's alone. */
static void take_tail(struct filter_pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const struct calls *c;
	bool shares = false, ours = selects_call(p, e);
	uint64_t entry;

	feed_event(p, e);
	if (!ours) {
		leave_out(p, e);
		return;
	}
	/* The new call is the last one; the chain of those that share its exit is before it. */
	c = &p->lane->now->calls;
	for (size_t i = calls_top(c); i + 1 < c->n; i++)
		shares = shares || is_ours(p, &c->at[i]);
	shares = shares || (c->n && c->at[c->n - 1].fn == e->fn && c->at[c->n - 1].begin != e->tsc);
	entry = (words[0] & ~UINT64_C(3)) | RECORD_ENTRY;
	keep_call(p, e, shares ? words : &entry, n);
}

/* Whether the record's returned value, if it has one, is to stay: only if the instance asked for
 * values. */
static bool union_value(const struct filter_pass *p, const struct event *e)
{
	return settings_values(&p->s->settings) || !(e->flags & EVENT_VALUE);
}

/* An exit stays if it ended one of the instance's calls. An exit that ended no known call stays if
 * the instance was alone before: its entry was recorded before the filter began. */
static void take_exit(struct filter_pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const uint64_t plain =
		record_word(words[0] >> (64 - RECORD_TSC_BITS), e->site, RECORD_EXIT);

	feed_event(p, e);
	if (!(p->ended ? p->ended_ours : !p->s->others_before))
		return;
	if (union_value(p, e))
		keep_words(p, words, n);
	else
		keep_words(p, &plain, 1);
}

/* A span is a whole call in one record, so that no track is needed. */
static void take_span(struct filter_pass *p, const struct event *e, const uint64_t *words, size_t n)
{
	const uint64_t plain[3] = {
		record_word(words[0] >> (64 - RECORD_TSC_BITS),
			    record_event_id(2, RECORD_EVENT_SPAN), RECORD_EVENT),
		words[1],
		words[2],
	};

	if (!selects_function(p, e->fn))
		return;
	if (union_value(p, e))
		keep_words(p, words, n);
	else
		keep_words(p, plain, 3);
}

static void take_by_function(struct filter_pass *p, const struct event *e, const uint64_t *words,
			     size_t n)
{
	if (selects_call(p, e))
		keep_call(p, e, words, n);
}

/* A switch leaves the current stack. RECORD_SWITCH_FOLLOWED says that its call will return there;
 * if no open call on the stack is the instance's, nothing of it comes back for the instance, and
 * the flag is cleared. */
static void take_switch(struct filter_pass *p, const struct event *e, const uint64_t *words,
			size_t n)
{
	const struct calls *c = &p->lane->now->calls;
	uint64_t copy[1 + RECORD_PAYLOAD_MAX];
	bool mine = false;

	memcpy(copy, words, n * sizeof(*words));
	for (size_t i = calls_top(c); i < c->n; i++)
		mine = mine || is_ours(p, &c->at[i]);
	if (!mine)
		copy[1] &= ~(uint64_t)RECORD_SWITCH_FOLLOWED;
	feed_event(p, e);
	keep_words(p, copy, n);
}

/* The number of calls, of the n that an unwinder leaves, that are the instance's, from the
 * innermost on. A call and its tail calls count as one, and as the instance's if any of them is. */
static uint64_t count_unwound(const struct filter_pass *p, uint64_t n)
{
	const struct calls *c = &p->lane->now->calls;
	size_t i = c->unwinder < c->n ? c->unwinder : c->n;
	size_t k = c->dead.n;
	uint64_t count = 0;

	for (; n && (i = dead_runs_pass(&c->dead, &k, i)); n--) {
		const size_t floor = k ? c->dead.at[k - 1].high : 0;
		bool mine = false;

		do
			mine = is_ours(p, &c->at[--i]) || mine;
		while (i > floor && c->at[i].flags & CALL_TAIL);
		count += mine;
	}
	return count;
}

static void take_unwind(struct filter_pass *p, const struct event *e, const uint64_t *words,
			size_t n)
{
	const uint64_t copy[2] = { words[0], count_unwound(p, e->count) };

	feed_event(p, e);
	if (copy[1])
		keep_words(p, copy, 2);
}

/* Places on the stack concern every instance: tracks need them. */
static void take_position(struct filter_pass *p, const struct event *e, const uint64_t *words,
			  size_t n)
{
	feed_event(p, e);
	keep_words(p, words, n);
}

/* Events and sleeps are not functions' records; other code selects them. */
static void take_words(struct filter_pass *p, const struct event *e, const uint64_t *words,
		       size_t n)
{
	keep_words(p, words, n);
}

typedef void taker(struct filter_pass *p, const struct event *e, const uint64_t *words, size_t n);

#define KINDS (EVENT_TRACE + 1)
/* By event kind. Kinds without a row are dropped: the other tracer's records. */
static taker *const of_graph[KINDS] = {
	[EVENT_ENTRY] = take_entry,
	[EVENT_TAIL] = take_tail,
	[EVENT_EXIT] = take_exit,
	[EVENT_SPAN] = take_span,
	[EVENT_ENTRY_ONLY] = take_by_function,
	[EVENT_UNWIND] = take_unwind,
	[EVENT_SWITCH] = take_switch,
	[EVENT_MARK] = take_position,
	[EVENT_AT] = take_position,
	[EVENT_SLEPT] = take_words,
	[EVENT_TRACE] = take_words,
};
static taker *const of_function[KINDS] = {
	[EVENT_CALL] = take_by_function,
	[EVENT_TRACE] = take_words,
};

static void sift_record(struct filter_pass *p, const struct event *e, const uint64_t *words,
			size_t n)
{
	taker *const *takers = p->s->graph ? of_graph : of_function;

	if (e->kind < KINDS && takers[e->kind])
		takers[e->kind](p, e, words, n);
}

/* Whether the record has arguments of a call that the instance does not want, or does not know yet
 * whether it does. */
static bool is_unwanted_arguments(const struct filter_pass *p, const uint64_t *words, size_t n)
{
	return record_kind(words[0]) == RECORD_EVENT &&
	       record_type(words[0]) == RECORD_EVENT_ARGUMENTS &&
	       (n < 2 || !settings_args(&p->s->settings) ||
		!selects_function(p, (uint32_t)words[1]) || has_condition(p, (uint32_t)words[1]));
}

/* Where the thread's arguments wait for their calls. */
static struct call_arguments **arguments_of_thread(struct record_filter *s, uint32_t thread)
{
	while (s->arguments.n <= thread)
		*vec_add(&s->arguments) = NULL;
	return &s->arguments.at[thread];
}

/* Unpacks record by record, so that the words of each can be copied. */
static void sift_chunk(struct filter_pass *p, const struct chunk *c)
{
	struct unpack u = {
		.at = c->words, .tsc = c->near_tsc, .cpu = c->cpu, .thread = c->thread,
		.arguments = arguments_of_thread(p->s, c->thread)
	};
	const uint64_t *end = c->words + c->n;

	while (u.at < end) {
		const uint64_t *words = u.at;
		size_t n = 1 + record_payload(words[0]);
		struct event e;

		/* The program overwrote the record's length. */
		if (n > (size_t)(end - words))
			break;
		u.end = words + n;
		if (!unpack_next(&u, &e)) {
			/* a change of CPU, or what the next record needs */
			if (!is_unwanted_arguments(p, words, n))
				keep_words(p, words, n);
		} else {
			sift_record(p, &e, words, n);
		}
	}
}

struct chunk *record_filter_chunk(struct record_filter *s, const struct trace_info *info,
				  const struct chunk *c)
{
	struct filter_pass p = { .s = s, .info = info, .image = info->threads.at[c->thread].image,
				 .chunks = true };

	begin_filter(s, info);
	p.lane = tracks_lane(&s->tracks, c->thread);
	p.out = chunk_like(c);
	/* Arguments before a gap are of no call behind it. */
	if (c->lost && *arguments_of_thread(s, c->thread))
		(*arguments_of_thread(s, c->thread))->n = 0;
	if (c->lost && s->graph)
		/* Tracks have to forget open calls at a loss, or exits would be matched with wrong
		 * entries. */
		feed_event(&p, &(struct event){ .kind = EVENT_LOST,
						.count = c->lost,
						.tsc = c->near_tsc,
						.thread = c->thread });
	sift_chunk(&p, c);
	return chunk_or_nothing(p.out);
}

const uint64_t *record_filter_record(struct record_filter *s, const struct trace_info *info,
				     const struct event *e, const uint64_t *words)
{
	struct filter_pass p = { .s = s, .info = info, .image = info->threads.at[e->thread].image };

	begin_filter(s, info);
	if (!s->one)
		/* One chunk for all calls, large enough for one record. */
		s->one = mem_zalloc(sizeof(*s->one) +
				    (1 + RECORD_PAYLOAD_MAX) * sizeof(s->one->words[0]));
	atomic_init(&s->one->refs, 1);
	s->one->n = 0;
	p.out = s->one;
	p.lane = tracks_lane(&s->tracks, e->thread);
	if (words)
		sift_record(&p, e, words, 1 + record_payload(words[0]));
	else if (s->graph)
		feed_event(&p, e);
	return s->one->n ? s->one->words : NULL;
}
