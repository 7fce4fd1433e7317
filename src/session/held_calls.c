/* SPDX-License-Identifier: MIT */
/* Follows each thread's calls by trace/tracks.h, which knows of exceptions, longjmp and tail calls,
 * over a copy of the thread's words. account.c calls it for each run, on the session's thread.
 *
 * Words are kept or left out by parts. A part is what will go on: records outside of all graphs;
 * events, which no condition is about; and calls that satisfied their condition. When a call does,
 * one part from its first word to its last takes the place of those inside of it. A call that does
 * not leaves these as they are: a graph that began in it is one of its own. Behind each run the
 * parts before the outermost call that waits go on, and the words before it are forgotten.
 *
 * Nothing fails but the sink. The numbers in records are the traced program's, and are checked
 * where they are used. */
#include "session/held_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "image/conditions.h"
#include "shared/record.h"
#include "trace/tracks.h"
#include "trace/unpack.h"

#define ARRIVAL_WORDS 3u

/* Words of one run among the thread's. */
struct held_segment {
	size_t begin;
	uint64_t near_tsc;
	uint16_t cpu;
};

/* Words from begin to end go on. tail: a call that was entered by a jump, without its caller. */
struct held_part { size_t begin, end; bool tail; };

/* A call that may begin a graph, and is not over. */
struct open_call {
	uint32_t fn, depth, track;
	size_t begin;        /* its first word */
	size_t parts;        /* that were there before it */
	bool broken;         /* words of it are missing */
	bool tail;
	const struct filter_program *filter; /* NULL: it is kept whatever it returns */
	const char *prototype;               /* of its function; NULL: not known */
};

struct held_thread {
	uint32_t thread, slot;
	VEC(uint64_t) words;
	VEC(struct held_segment) segments;
	VEC(struct held_part) parts;
	VEC(struct open_call) open;
	size_t pending;      /* where the words begin that belong to the next record */
	uint64_t lost;       /* records, to be told with the next run */
	uint64_t position, newest;
	/* The last AT that was left out and tells that a graph began, which ended the ones before:
	 * its record, and a time near it. */
	uint64_t arrival[ARRIVAL_WORDS], arrival_tsc;
	bool arrived;
	bool broken;         /* words of the outermost open call are missing */
};

/* The condition of a function, by its id. */
enum judged { JUDGED_NOT = 0, JUDGED_NO, JUDGED_KEPT, JUDGED_BY };
struct judgement {
	uint8_t state;
	const struct filter_program *filter;
	const char *prototype;
};
struct image_judgements { VEC(struct judgement) at; };

struct held_calls {
	const struct trace_info *info;
	struct sites sites;
	struct tracks tracks;
	VEC(struct held_thread *) threads;         /* by index; NULL: none of its records came */
	VEC(struct image_judgements) images;
	VEC(struct filter_program *) filters;      /* all that there were: calls refer to them */
	VEC(char *) prototypes;                    /* as filters */
	size_t words;                              /* of all threads */
	struct held_counts counts;
};

/* info grows while the session runs; held_calls_renew() follows when it has. */
struct held_calls *held_calls_new(const struct trace_info *info)
{
	struct held_calls *h = mem_zalloc(sizeof(*h));

	h->info = info;
	sites_init(&h->sites, info);
	tracks_init(&h->tracks, info, &h->sites);
	return h;
}

static void free_thread(struct held_thread *t)
{
	if (!t)
		return;
	vec_free(&t->words);
	vec_free(&t->segments);
	vec_free(&t->parts);
	vec_free(&t->open);
	free(t);
}

/* The functions that have conditions are looked for anew, in the new settings. */
static void forget_judgements(struct held_calls *h)
{
	for (size_t i = 0; i < h->images.n; i++)
		vec_free(&h->images.at[i].at);
	vec_free(&h->images);
}

void held_calls_free(struct held_calls *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->threads.n; i++)
		free_thread(h->threads.at[i]);
	vec_free(&h->threads);
	forget_judgements(h);
	for (size_t i = 0; i < h->filters.n; i++)
		free(h->filters.at[i]);
	vec_free(&h->filters);
	for (size_t i = 0; i < h->prototypes.n; i++)
		free(h->prototypes.at[i]);
	vec_free(&h->prototypes);
	tracks_free(&h->tracks);
	sites_free(&h->sites);
	free(h);
}

/* There are new functions, or other settings. */
void held_calls_renew(struct held_calls *h)
{
	forget_judgements(h);
	sites_renew(&h->sites);
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Compiles the condition again that was checked when the function was planned. */
static const struct filter_program *compile(struct held_calls *h, const struct trace_module *m,
					    const struct trace_function *f)
{
	char *text = mem_strdup(m->strings.at + f->returned);
	const struct function_pattern pattern = { .text = text, .returned = text };
	const char *prototype = f->prototype ? m->strings.at + f->prototype : NULL;
	struct filter_program *program = NULL;
	struct err ignored;

	if (condition_compile_returned(&pattern, "", prototype, &program, &ignored) == 0)
		*vec_add(&h->filters) = program;
	free(text);
	return program;
}

/* A call of a function with a condition on its arguments, too, begins no graph inside of another
 * one: there nobody has looked at them. */
static struct judgement look_up(struct held_calls *h, uint32_t image, uint32_t fn, bool inside)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(h->info, image, fn, &m);
	struct judgement j = { .state = JUDGED_NO };

	if (!f || !f->begins || (inside && f->compared))
		return j;
	j.state = JUDGED_KEPT;
	if (f->returned) {
		j.filter = compile(h, m, f);
		if (f->prototype)
			*vec_add(&h->prototypes) = mem_strdup(m->strings.at + f->prototype);
		j.prototype = f->prototype ? h->prototypes.at[h->prototypes.n - 1] : NULL;
		j.state = j.filter ? JUDGED_BY : JUDGED_NO;
	}
	return j;
}

/* look_up() with its answers kept, by image and id, outermost calls first. Both numbers come from
 * the program's records. */
static struct judgement judge_function(struct held_calls *h, uint32_t image, uint32_t fn,
				       bool inside)
{
	const size_t at = 2 * (size_t)fn + inside;
	struct image_judgements *i;

	if (image >= h->info->images.n || fn > RECORD_ID_MAX)
		return (struct judgement){ .state = JUDGED_NO };
	while (h->images.n <= image)
		*vec_add(&h->images) = (struct image_judgements){ 0 };
	i = &h->images.at[image];
	while (i->at.n <= at)
		*vec_add(&i->at) = (struct judgement){ 0 };
	if (i->at.at[at].state == JUDGED_NOT)
		i->at.at[at] = look_up(h, image, fn, inside);
	return i->at.at[at];
}

/* A call without a condition of its own satisfies it: it waits for one that encloses it. */
static bool satisfies(const struct open_call *c, const struct call_step *s)
{
	const struct condition_value v = {
		.number = s->value, .is_float = s->flags & CALL_FLOAT,
		.text = s->flags & CALL_TEXT && s->text_bytes ? s->text : NULL,
		.bytes = s->text_bytes - 1,
	};

	if (!c->filter)
		return true;
	return s->flags & CALL_VALUE && condition_holds(c->filter, c->prototype, &v);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Parts that follow one another become one, unless the first record of the second needs its mark
 * as a tail call. */
static void add_part(struct held_thread *t, size_t begin, size_t end, bool tail)
{
	struct held_part *last = t->parts.n ? &t->parts.at[t->parts.n - 1] : NULL;

	if (last && last->end == begin && !tail)
		last->end = end;
	else if (begin < end)
		*vec_add(&t->parts) = (struct held_part){ begin, end, tail };
}

/* The outermost call is kept whatever it returns: nothing waits for it. */
static bool is_kept(const struct held_thread *t)
{
	return t->open.n && !t->open.at[0].filter;
}

/* Whether a call of the thread waits for its return. */
static bool is_waiting(const struct held_thread *t)
{
	return t->open.n && !is_kept(t) && !t->broken;
}

struct held_counts held_calls_counts(const struct held_calls *h)
{
	struct held_counts c = h->counts;

	for (size_t i = 0; i < h->threads.n; i++)
		c.open += h->threads.at[i] && is_waiting(h->threads.at[i]);
	return c;
}

/* A record that passes through the held calls of its thread. */
struct passing {
	struct held_calls *h;
	struct held_thread *t;
	uint32_t image;
	size_t end;          /* of its words */
	bool closed;         /* it ended a call that waited */
};

/* Only a call that may be kept opens anything: all others cost one look. */
static void open_call(struct passing *p, const struct call_step *s)
{
	struct held_thread *t = p->t;
	const struct judgement j = judge_function(p->h, p->image, s->fn, t->open.n);

	if (j.state == JUDGED_NO || is_kept(t))
		return;
	*vec_add(&t->open) = (struct open_call){
		.fn = s->fn, .depth = s->depth, .track = s->track, .begin = t->pending,
		.parts = t->parts.n, .broken = t->broken, .tail = s->flags & CALL_TAIL,
		.filter = j.filter, .prototype = j.prototype,
	};
}

/* Decides the call: what it recorded is kept as a part, or forgotten. */
static void close_call(struct passing *p, const struct call_step *s)
{
	struct held_thread *t = p->t;
	const struct open_call c = t->open.at[t->open.n - 1];

	/* The words of one that is kept anyway have gone on. */
	if (--t->open.n == 0 && !c.filter)
		return;
	p->closed = true;
	if (c.broken) {
		p->h->counts.too_long += !t->open.n;
		return;
	}
	if (!satisfies(&c, s))
		return;
	t->parts.n = c.parts;
	add_part(t, c.begin, s->flags & CALL_UNWOUND ? t->pending : p->end, c.tail);
}

/* calls_emit. Calls may end out of order where control leaves a stack: the ones above go with
 * them. */
static void follow(void *context, const struct call_step *s)
{
	struct passing *p = context;
	struct held_thread *t = p->t;

	if (s->kind == CALL_ENTER)
		open_call(p, s);
	if (s->kind != CALL_LEAVE || !t->open.n)
		return;
	for (size_t i = t->open.n; i-- > 0;) {
		const struct open_call *c = &t->open.at[i];

		if (c->fn != s->fn || c->depth != s->depth || c->track != s->track)
			continue;
		t->open.n = i + 1;
		close_call(p, s);
		return;
	}
}

/* Whether the event only tells something about the record that comes next. */
static bool is_ahead(const struct event *e)
{
	return e->kind == EVENT_AT || e->kind == EVENT_SLEPT;
}

/* Takes one event, whose words and those ahead of it end at p->end. */
static void take_event(struct passing *p, struct lane *lane, const struct event *e)
{
	struct held_thread *t = p->t;
	bool waits, ends;

	p->closed = false;
	tracks_feed(&p->h->tracks, lane, e, follow, p);
	if (is_ahead(e))
		return;
	waits = t->open.n && !is_kept(t);
	ends = p->closed && e->kind == EVENT_EXIT;
	/* An event is nobody's call. */
	if (e->kind == EVENT_TRACE || (!waits && !ends))
		add_part(t, t->pending, p->end, false);
	t->pending = p->end;
}

/* --- what goes on ----------------------------------------------------------------------------- */

/* Where a walk over the words is: the time and the CPU of the record there. */
struct held_walk { size_t at, segment; uint64_t tsc; uint16_t cpu; };

static size_t segment_end(const struct held_thread *t, size_t segment)
{
	return segment + 1 < t->segments.n ? t->segments.at[segment + 1].begin : t->words.n;
}

static void enter_segment(const struct held_thread *t, struct held_walk *w)
{
	w->tsc = t->segments.at[w->segment].near_tsc;
	w->cpu = t->segments.at[w->segment].cpu;
}

/* Takes the walk past one record. */
static void step(const struct held_thread *t, struct held_walk *w)
{
	uint64_t word = t->words.at[w->at];

	w->tsc = record_tsc(word, w->tsc);
	if (record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_CPU &&
	    record_payload(word) && w->at + 1 < t->words.n)
		w->cpu = (uint16_t)t->words.at[w->at + 1];
	w->at += 1 + record_payload(word);
	if (w->at >= segment_end(t, w->segment) && w->segment + 1 < t->segments.n) {
		w->segment++;
		enter_segment(t, w);
	}
}

/* Tells that a graph has begun, though its first call is left out: nothing of an earlier one is
 * open any more. */
static int give_arrival(struct held_thread *t, uint16_t cpu, drain_sink *sink, void *context,
			struct err *err)
{
	const struct drain_run run = {
		.slot = t->slot, .cpu = cpu, .near_tsc = t->arrival_tsc, .position = t->position,
		.lost = t->lost, .words = t->arrival, .n = ARRIVAL_WORDS,
	};

	t->position += run.lost;
	t->lost = 0;
	t->arrived = false;
	return sink(context, &run, err);
}

/* Gives the words from the walk's place to `end`, all of one segment, to the sink. */
static int give_words(struct held_thread *t, struct held_walk *w, size_t end, drain_sink *sink,
		      void *context, struct err *err)
{
	int r = t->arrived ? give_arrival(t, w->cpu, sink, context, err) : 0;
	struct drain_run run = {
		.slot = t->slot, .cpu = w->cpu, .near_tsc = w->tsc, .position = t->position,
		.lost = t->lost, .words = t->words.at + w->at, .n = end - w->at,
	};
	size_t segment = w->segment;

	if (r < 0)
		return r;
	while (w->at < end && w->segment == segment) {
		run.records += (uint64_t)record_counts(t->words.at[w->at]);
		run.calls += (uint64_t)record_is_call(t->words.at[w->at]);
		step(t, w);
	}
	t->position += run.records + run.lost;
	t->lost = 0;
	return sink(context, &run, err);
}

/* A tail call shares its caller's return; without the caller it is a call like others. */
static void make_entry(struct held_thread *t, const struct held_part *p)
{
	for (size_t at = p->begin; at < p->end; at += 1 + record_payload(t->words.at[at]))
		if (record_kind(t->words.at[at]) == RECORD_TAIL) {
			t->words.at[at] = (t->words.at[at] & ~UINT64_C(3)) | RECORD_ENTRY;
			return;
		}
}

/* A thread's arrival is remembered even if it is left out: records that are kept later need it
 * before them. */
static void leave_record_out(struct held_thread *t, const struct held_walk *w)
{
	const uint64_t *words = t->words.at + w->at;

	t->lost += t->broken && record_counts(*words);
	if (record_kind(*words) != RECORD_EVENT || record_type(*words) != RECORD_EVENT_AT ||
	    record_payload(*words) != ARRIVAL_WORDS - 1 || t->words.n - w->at < ARRIVAL_WORDS ||
	    !(words[2] & RECORD_AT_OUTERMOST))
		return;
	memcpy(t->arrival, words, sizeof(t->arrival));
	t->arrival_tsc = w->tsc;
	t->arrived = true;
}

/* Leaves the words out up to `end`. */
static void leave_out(struct held_thread *t, struct held_walk *w, size_t end)
{
	for (; w->at < end; step(t, w))
		leave_record_out(t, w);
}

/* Where the words begin that have to wait: of the outermost call, or of a record that has not come
 * yet. *parts: the number of parts before it. */
static size_t waiting_from(const struct held_thread *t, size_t *parts)
{
	if (t->open.n && !is_kept(t) && !t->broken) {
		*parts = t->open.at[0].parts;
		return t->open.at[0].begin;
	}
	*parts = t->parts.n;
	return t->pending;
}

/* Gives the first n parts, and takes the walk to `end` behind them. */
static int give_parts(struct held_thread *t, size_t n, size_t end, struct held_walk *w,
		      drain_sink *sink, void *context, struct err *err)
{
	int r = 0;

	if (t->segments.n)
		enter_segment(t, w);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct held_part *p = &t->parts.at[i];

		leave_out(t, w, p->begin);
		if (p->tail)
			make_entry(t, p);
		while (w->at < p->end && r >= 0) {
			size_t next = segment_end(t, w->segment);

			r = give_words(t, w, next < p->end ? next : p->end, sink, context, err);
		}
	}
	leave_out(t, w, end);
	return r;
}

/* Forgets the words before the walk's place, and their n parts: what stands behind moves down. */
static void forget_words(struct held_calls *h, struct held_thread *t, const struct held_walk *w,
			 size_t n)
{
	size_t left = t->words.n - w->at, parts = t->parts.n - n, segments = 0;

	for (size_t i = 0; i < parts; i++) {
		const struct held_part *p = &t->parts.at[n + i];

		t->parts.at[i] = (struct held_part){ p->begin - w->at, p->end - w->at, p->tail };
	}
	for (size_t i = w->segment; left && i < t->segments.n; i++) {
		struct held_segment s = t->segments.at[i];

		if (s.begin < w->at)
			s = (struct held_segment){ w->at, w->tsc, w->cpu };
		s.begin -= w->at;
		t->segments.at[segments++] = s;
	}
	for (size_t i = 0; i < t->open.n; i++) {
		t->open.at[i].begin -= w->at;
		t->open.at[i].parts -= n;
	}
	if (left)
		memmove(t->words.at, t->words.at + w->at, left * sizeof(*t->words.at));
	h->words -= w->at;
	t->words.n = left;
	t->parts.n = parts;
	t->segments.n = segments;
	t->pending -= w->at;
}

/* Gives what does not wait to the sink, and forgets it. */
static int go_on(struct held_calls *h, struct held_thread *t, drain_sink *sink, void *context,
		 struct err *err)
{
	struct held_walk w = { 0 };
	size_t n, end = waiting_from(t, &n);
	int r = end ? give_parts(t, n, end, &w, sink, context, err) : 0;

	if (end)
		forget_words(h, t, &w, n);
	t->broken = t->broken && t->open.n;
	return r;
}

/* Words of the open calls are missing, or there is no room for more: none of these calls is kept,
 * since nobody could tell what is missing. */
static void break_open(struct held_thread *t)
{
	t->broken = t->open.n && !is_kept(t);
	for (size_t i = 0; t->broken && i < t->open.n; i++)
		t->open.at[i].broken = true;
}

/* --- runs ------------------------------------------------------------------------------------- */

static struct held_thread *thread_of(struct held_calls *h, uint32_t thread, uint32_t slot)
{
	struct held_thread **t;

	while (h->threads.n <= thread)
		*vec_add(&h->threads) = NULL;
	t = &h->threads.at[thread];
	if (!*t) {
		*t = mem_zalloc(sizeof(**t));
		(*t)->thread = thread;
	}
	(*t)->slot = slot;
	return *t;
}

/* Copied, because the sub-buffer goes back to its thread. */
static void add_words(struct held_calls *h, struct held_thread *t, const struct drain_run *run)
{
	t->newest = run->near_tsc;
	if (!run->n)
		return;
	*vec_add(&t->segments) = (struct held_segment){ t->words.n, run->near_tsc, run->cpu };
	vec_reserve(&t->words, t->words.n + run->n + 1);
	for (size_t i = 0; i < run->n; i++)
		*vec_add(&t->words) = run->words[i];
	h->words += run->n;
}

/* The words of the run have become the thread's last ones. A call of which words are missing has
 * gone on, in what is known of it, before the next one comes. */
static int follow_run(struct held_calls *h, struct held_thread *t, const struct drain_run *run,
		      drain_sink *sink, void *context, struct err *err)
{
	struct passing p = { .h = h, .t = t, .image = h->info->threads.at[t->thread].image };
	struct lane *lane = tracks_lane(&h->tracks, t->thread);
	size_t first = t->words.n - run->n;
	struct unpack u = { .at = run->words, .end = run->words + run->n, .tsc = run->near_tsc,
			    .thread = t->thread, .cpu = run->cpu };
	struct event e = { .kind = EVENT_LOST, .count = run->lost, .tsc = run->near_tsc,
			   .thread = t->thread, .cpu = run->cpu };
	int r = 0;

	p.end = first;
	if (run->lost)
		tracks_feed(&h->tracks, lane, &e, follow, &p);
	while (r >= 0 && unpack_next(&u, &e)) {
		p.end = first + (size_t)(u.at - run->words);
		take_event(&p, lane, &e);
		if (t->broken && !t->open.n) {
			first -= t->pending;
			r = go_on(h, t, sink, context, err);
		}
	}
	return r;
}

/* Losses at a thread's end come without records: no later run of the thread's tells them. */
static int tell_lost(struct held_thread *t, drain_sink *sink, void *context, struct err *err)
{
	const struct drain_run run = { .slot = t->slot, .near_tsc = t->newest,
				       .position = t->position, .lost = t->lost };

	if (!run.lost)
		return 0;
	t->position += run.lost;
	t->lost = 0;
	return sink(context, &run, err);
}

/* A thread that has recorded more than HELD_THREAD_WORDS within open calls is let go: its
 * conditions count as not decidable, and are told. */
int held_calls_take(struct held_calls *h, uint32_t thread, const struct drain_run *run,
		    drain_sink *sink, void *context, struct err *err)
{
	struct held_thread *t = thread_of(h, thread, run->slot);
	int r = 0;

	if (!t->segments.n && !t->open.n)
		t->position = run->position;
	if (run->lost) {
		/* A call that waits cannot be told from others behind a loss. */
		break_open(t);
		r = go_on(h, t, sink, context, err);
		t->lost += run->lost;
	}
	add_words(h, t, run);
	if (r >= 0)
		r = follow_run(h, t, run, sink, context, err);
	if (r >= 0)
		r = go_on(h, t, sink, context, err);
	if (r >= 0 && !run->n)
		r = tell_lost(t, sink, context, err);
	if (r < 0 || (t->words.n <= HELD_THREAD_WORDS && h->words <= HELD_WORDS))
		return r;
	break_open(t);
	return go_on(h, t, sink, context, err);
}

static int end_thread(struct held_calls *h, struct held_thread *t, drain_sink *sink, void *context,
		      struct err *err)
{
	int r;

	h->counts.open += is_waiting(t);
	h->counts.too_long += t->broken;
	t->open.n = 0;
	t->pending = t->words.n;
	r = go_on(h, t, sink, context, err);
	return r < 0 ? r : tell_lost(t, sink, context, err);
}

int held_calls_end(struct held_calls *h, drain_sink *sink, void *context, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < h->threads.n && r >= 0; i++)
		if (h->threads.at[i])
			r = end_thread(h, h->threads.at[i], sink, context, err);
	return r;
}
