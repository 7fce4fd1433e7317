/* SPDX-License-Identifier: MIT */
/* Follows the calls of a process over all its threads. Workers of a summary call it, each with a
 * cursor of its own; what they share does not change. Reading a process so takes one core, and the
 * merge of all threads' records. Errors are the inner input's. */
#include "report/gathered.h"

#include "shared/record.h"
#include "trace/stack_numbers.h"
#include "trace/track_ends.h"
#include "trace/trace_processes.h"

struct gathered {
	const struct summary_input *top; /* what the reader had */
	struct summary_input inner;      /* the innermost, whose place this one has */
	struct summary_input *place;     /* that place; NULL: `top` is the innermost */
	VEC(uint32_t) leaders; /* by thread: who gives its events; NO_THREAD: itself alone */
};

struct gathered_cursor {
	struct gathered *g;
	void *inner;             /* a thread by itself; or NULL, and: */
	uint32_t leader;
	struct source *source;
	struct sites sites;
	struct tracks tracks;
	struct track_ends ends;
	struct stack_numbers numbers;
	struct event event;      /* the one that the steps are of */
	VEC(struct call_step) steps;
	size_t next;
	struct err failed;       /* the source could not be opened */
	bool ended;
};

/* --- the processes --------------------------------------------------------------------------- */

struct gathering {
	VEC(uint32_t) first, threads; /* by process: its first thread, and how many it has */
	VEC(bool) moves;              /* by process: any of them was on a coroutine's stack */
};

/* Looks at the threads that are shown. A hidden one (trace_info.sides) gives no records: it neither
 * leads a process nor counts as company. */
static void look_at_threads(struct gathering *p, const struct trace_info *info,
			    const uint32_t *of_thread, const bool *coroutines)
{
	for (uint32_t i = 0; i < info->threads.n; i++) {
		const uint32_t process = of_thread[i];

		while (p->first.n <= process) {
			*vec_add(&p->first) = NO_THREAD;
			*vec_add(&p->threads) = 0;
			*vec_add(&p->moves) = false;
		}
		if (!trace_info_shows(info, i))
			continue;
		if (p->first.at[process] == NO_THREAD)
			p->first.at[process] = i;
		p->threads.at[process]++;
		p->moves.at[process] |= coroutines[i];
	}
}

/* A coroutine of the only thread of a process cannot move. False: there is no other. Then the first
 * pass was right already, and nothing has to be read again. */
static bool choose_leaders(struct gathered *g, const bool *coroutines)
{
	const struct trace_info *info = g->inner.info;
	struct trace_processes processes = { 0 };
	struct gathering p = { 0 };
	bool any = false;

	trace_processes_find(&processes, info);
	look_at_threads(&p, info, processes.of_thread.at, coroutines);
	for (uint32_t i = 0; i < info->threads.n; i++) {
		const uint32_t process = processes.of_thread.at[i];
		const bool gathers = p.moves.at[process] && p.threads.at[process] > 1;

		*vec_add(&g->leaders) = gathers ? p.first.at[process] : NO_THREAD;
		any |= gathers;
	}
	vec_free(&p.first);
	vec_free(&p.threads);
	vec_free(&p.moves);
	trace_processes_free(&processes);
	return any;
}

/* --- a process's calls ----------------------------------------------------------------------- */

/* Each stack has a number of its own here: readers tell stacks of one thread apart by that. Number
 * 0 is the thread's own stack to them (call_step.track), which a process of many threads does not
 * have: hence the 1. Arguments are dropped, because their event is promised only while the step is
 * emitted (trace/calls.h), and steps are given on later. */
static void take_step(void *arg, const struct call_step *s)
{
	struct gathered_cursor *c = arg;
	struct call_step *to = vec_add(&c->steps);

	*to = *s;
	to->track = 1 + stack_number(&c->numbers, c->g->inner.info, s);
	to->flags &= (uint16_t)~CALL_ARGUMENTS;
}

/* Events that are no calls go on as they are; their payload lives until the next one is read. */
static void give_step(const struct gathered_cursor *c, const struct call_step *s,
		      struct event *out)
{
	*out = c->event;
	if (s->kind != CALL_EVENT && s->kind != CALL_LOST)
		*out = (struct event){ .tsc = s->tsc, .step = s, .thread = s->thread, .fn = s->fn,
				       .site = s->site, .cpu = s->cpu, .kind = EVENT_STEP };
}

/* Follows one event of any thread. 0, or -errno and *err. The source gives records of all threads
 * of the trace; those of other processes are passed over here, since summary_input.all has no way
 * to ask for one process alone. */
static int follow(struct gathered_cursor *c, struct err *err)
{
	const struct gathered *g = c->g;
	struct event *e = &c->event;
	const int r = c->source->ops->next(c->source, e, err);

	c->steps.n = c->next = 0;
	if (r < 0)
		return r;
	if (!r) {
		track_ends_all(&c->ends, &c->tracks, take_step, c);
		c->ended = true;
		return 0;
	}
	/* Only a broken file has records of a thread that its table lacks. */
	if (e->thread >= g->leaders.n || g->leaders.at[e->thread] != c->leader)
		return 0;
	track_ends_event(&c->ends, e);
	tracks_feed(&c->tracks, tracks_lane(&c->tracks, e->thread), e, take_step, c);
	return 0;
}

/* The `next` of summary_input. It gives the steps of one event at a time, which live until the next
 * call. Fewer than n are no sign of the end: events that make no step are followed until one does.
 * 0 is the end. */
static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	struct gathered_cursor *c = cursor;
	size_t done = 0;
	int r = 0;

	if (c->inner)
		return c->g->inner.next(c->inner, out, n, err);
	if (c->failed.code) {
		*err = c->failed;
		return -err->code;
	}
	while (c->next == c->steps.n && !c->ended && !r)
		r = follow(c, err);
	while (done < n && c->next < c->steps.n)
		give_step(c, &c->steps.at[c->next++], &out[done++]);
	return r < 0 ? r : (int)done;
}

/* --- the input ------------------------------------------------------------------------------- */

static void close_cursor(void *cursor)
{
	struct gathered_cursor *c = cursor;

	if (c->inner)
		c->g->inner.close(c->inner);
	if (c->source)
		c->source->ops->close(c->source);
	vec_free(&c->steps);
	track_ends_free(&c->ends);
	stack_numbers_free(&c->numbers);
	tracks_free(&c->tracks);
	sites_free(&c->sites);
	free(c);
}

/* NULL: the thread has no records, or another one gives them. A failure is next_events()'s to tell.
 * summary_input.open has no way to tell of one: NULL means that there are no records. */
static void *open_cursor(void *of, uint32_t thread)
{
	struct gathered *g = of;
	const uint32_t leader = g->leaders.at[thread];
	struct gathered_cursor *c;

	if (leader != NO_THREAD && leader != thread)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->g = g;
	c->leader = leader;
	sites_init(&c->sites, g->inner.info);
	tracks_init(&c->tracks, g->inner.info, &c->sites);
	if (leader == NO_THREAD)
		c->inner = g->inner.open(g->inner.of, thread);
	else
		c->source = g->inner.all(g->inner.of, &c->failed);
	if (c->inner || leader != NO_THREAD)
		return c;
	close_cursor(c);
	return NULL;
}

/* at_once: a step lies in the cursor's list, which the next event replaces. Words, parts and the
 * stream of all threads are the innermost input's, and go round the leaders: they are taken away,
 * so that a summary uses open and next alone. */
static struct summary_input own_input(struct gathered *g)
{
	struct summary_input in = g->inner;

	in.of = g;
	in.open = open_cursor;
	in.next = next_events;
	in.close = close_cursor;
	in.words = NULL;
	in.open_part = NULL;
	in.all = NULL;
	in.at_once = in.gathers = true;
	return in;
}

/* The innermost input is replaced where the one around it reads through it (summary_input.inner).
 * So inputs that regroup or filter calls, which hold a copy of their inner one, read gathered
 * events without knowing of it. gathered_free() puts the old one back. */
struct gathered *gathered_new(const struct summary_input *in, const bool *coroutines)
{
	struct gathered *g = mem_zalloc(sizeof(*g));
	const struct summary_input *innermost = in;

	for (; innermost->inner; innermost = innermost->inner)
		g->place = innermost->inner;
	g->top = in;
	g->inner = *innermost;
	/* Spans have no stacks: what other threads did does not concern them. */
	if (!g->inner.all || g->inner.info->thresh_ns || !choose_leaders(g, coroutines)) {
		vec_free(&g->leaders);
		free(g);
		return NULL;
	}
	if (g->place)
		*g->place = own_input(g);
	return g;
}

/* The outer inputs offered what the innermost had. Those ways round next() are closed here, too,
 * since the top's own copy still has them. */
struct summary_input gathered_input(struct gathered *g)
{
	struct summary_input in = *g->top;

	if (!g->place)
		return own_input(g);
	in.words = NULL;
	in.open_part = NULL;
	in.at_once = in.gathers = true;
	return in;
}

void gathered_free(struct gathered *g)
{
	if (!g)
		return;
	if (g->place)
		*g->place = g->inner;
	vec_free(&g->leaders);
	free(g);
}
