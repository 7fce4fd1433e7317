/* SPDX-License-Identifier: MIT */
/* Made by `brace report` on its one thread, before the workers read it. Memory is that of the
 * outermost calls and of the switches. Records may be a damaged file's: a period that ends before
 * it begins, or within the one before, has what is left of it. */
#include "report/kernel_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/format.h"
#include "report/event_fields.h"
#include "trace/tracks.h"

/* sum: ticks of all periods up to its end. They do not overlap. */
struct period { uint64_t from, to, sum; };
typedef VEC(struct period) period_list;

/* out: since then another runs in its place; 0: it runs. off: the times of that, whether it slept
 * (blocked) or could have gone on; inside: in the kernel's functions, less `off`. */
struct timed_thread {
	uint32_t tid;
	uint64_t out;
	bool asleep;
	period_list inside, blocked, off;
};

struct kernel_times {
	VEC(struct timed_thread) threads; /* by tid */
	struct switch_format { uint32_t event; uint16_t prev, state, next; } switches;
	const struct trace_info *info;
};

#define SWITCH_STATES 0xffu /* of prev_state: those in which a thread sleeps */

/* --- periods ------------------------------------------------------------------------------ */

/* Periods may overlap: the later one is cut, so that no time counts twice. `sum` is of all up to
 * its end, for ticks_before(). */
static void add_period(period_list *l, uint64_t from, uint64_t to)
{
	/* A copy: the list may move when it grows. */
	const struct period last = l->n ? l->at[l->n - 1] : (struct period){ 0 };

	if (from < last.to)
		from = last.to;
	if (to > from)
		*vec_add(l) = (struct period){ from, to, last.sum + to - from };
}

/* Ticks of the periods up to a time. */
static uint64_t ticks_before(const period_list *l, uint64_t tsc)
{
	size_t n = vec_bisect(l, p, p->from < tsc);
	const struct period *p = n ? &l->at[n - 1] : NULL;

	return p ? p->sum - (p->to > tsc ? p->to - tsc : 0) : 0;
}

/* --- threads ------------------------------------------------------------------------------ */

static struct timed_thread *find_thread(const struct kernel_times *k, uint32_t tid)
{
	size_t n = vec_bisect(&k->threads, t, t->tid < tid);

	return n < k->threads.n && k->threads.at[n].tid == tid ? &k->threads.at[n] : NULL;
}

/* Kept in order, for bisecting: threads are few beside their records. */
static struct timed_thread *thread_of(struct kernel_times *k, uint32_t tid)
{
	size_t n = vec_bisect(&k->threads, t, t->tid < tid);

	if (n < k->threads.n && k->threads.at[n].tid == tid)
		return &k->threads.at[n];
	(void)vec_add(&k->threads);
	memmove(k->threads.at + n + 1, k->threads.at + n,
		(k->threads.n - 1 - n) * sizeof(*k->threads.at));
	k->threads.at[n] = (struct timed_thread){ .tid = tid };
	return &k->threads.at[n];
}

/* --- switches ----------------------------------------------------------------------------- */

/* Offsets come from the event's format, as each kernel tells it; a field that is missing or of
 * another size leaves the event unused. */
static void find_switches(struct kernel_times *k)
{
	struct event_format *f = NULL;

	k->switches.event = UINT32_MAX;
	for (size_t i = 0; i < k->info->events.n; i++) {
		const struct trace_event *e = &k->info->events.at[i];

		if (strcmp(e->name, "sched_switch") || strcmp(e->system, "sched"))
			continue;
		f = event_format_parse(e->format, strlen(e->format), e->system, NULL);
		if (!f)
			continue;
		k->switches = (struct switch_format){
			e->index, event_fields_offset(f, "prev_pid", 4),
			event_fields_offset(f, "prev_state", 8),
			event_fields_offset(f, "next_pid", 4),
		};
		event_format_free(f);
	}
	if (!k->switches.prev || !k->switches.state || !k->switches.next)
		k->switches.event = UINT32_MAX;
}

/* A thread that was preempted was off its CPU, but not asleep: only the first counts for it. One
 * event tells of both threads. thread_of() may move the first when it makes the second: the pointer
 * is not kept. */
static void take_switch(struct kernel_times *k, const struct event *e)
{
	const uint32_t prev = (uint32_t)event_fields_number(e, k->switches.prev, 4);
	const uint32_t next = (uint32_t)event_fields_number(e, k->switches.next, 4);
	struct timed_thread *t = thread_of(k, prev);

	t->out = e->tsc;
	t->asleep = event_fields_number(e, k->switches.state, 8) & SWITCH_STATES;
	t = thread_of(k, next);
	if (t->out && t->asleep)
		add_period(&t->blocked, t->out, e->tsc);
	if (t->out)
		add_period(&t->off, t->out, e->tsc);
	t->out = 0;
}

/* --- all ---------------------------------------------------------------------------------- */

/* An outermost call, without the times in it at which another thread ran: these end before it.
 * Otherwise a read() that waited for a second would have spent it in the kernel. */
static void add_call(struct timed_thread *t, uint64_t from, uint64_t to)
{
	for (size_t i = vec_bisect(&t->off, p, p->to <= from); i < t->off.n; i++) {
		const struct period off = t->off.at[i];

		if (off.from >= to)
			break;
		if (off.from > from)
			add_period(&t->inside, from, off.from);
		from = off.to;
	}
	add_period(&t->inside, from, to);
}

static void take_step(void *arg, const struct call_step *s)
{
	struct kernel_times *k = arg;

	if (s->kind == CALL_LEAVE && !s->depth)
		add_call(thread_of(k, k->info->threads.at[s->thread].tid), s->begin, s->tsc);
}

/* Only calls at depth 0 count as inside: what they call lies within them. Threads of the program
 * are passed over: their calls are what is asked about later. The source is read to its end once,
 * before any question. */
int kernel_times_make(struct source *source, struct kernel_times **out, struct err *err)
{
	struct kernel_times *k = mem_zalloc(sizeof(*k));
	struct event e, last = { 0 };
	struct tracks tracks;
	struct sites sites;
	int r;

	k->info = source->info;
	find_switches(k);
	sites_init(&sites, source->info);
	tracks_init(&tracks, source->info, &sites);
	while ((r = source->ops->next(source, &e, err)) > 0) {
		if (e.thread >= source->info->threads.n ||
		    !trace_info_is_kernel_thread(source->info, e.thread))
			continue;
		last = e;
		if (e.kind == EVENT_TRACE && e.fn == k->switches.event)
			take_switch(k, &e);
		else if (e.kind != EVENT_TRACE)
			tracks_feed(&tracks, tracks_lane(&tracks, e.thread), &e, take_step, k);
	}
	tracks_end(&tracks, &last, take_step, k);
	tracks_free(&tracks);
	sites_free(&sites);
	if (r >= 0) {
		*out = k;
		return 0;
	}
	kernel_times_free(k);
	return r;
}

void kernel_times_free(struct kernel_times *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->threads.n; i++) {
		vec_free(&k->threads.at[i].inside);
		vec_free(&k->threads.at[i].blocked);
		vec_free(&k->threads.at[i].off);
	}
	vec_free(&k->threads);
	free(k);
}

/* In ticks; none of a thread that the kernel recorded nothing of. */
struct kernel_time kernel_times_between(const struct kernel_times *k, uint32_t tid, uint64_t from,
					uint64_t to)
{
	const struct timed_thread *t = find_thread(k, tid);
	struct kernel_time time = { 0 };

	if (!t || to <= from)
		return time;
	time.inside = ticks_before(&t->inside, to) - ticks_before(&t->inside, from);
	time.blocked = ticks_before(&t->blocked, to) - ticks_before(&t->blocked, from);
	return time;
}
