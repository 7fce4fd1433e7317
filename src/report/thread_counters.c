/* SPDX-License-Identifier: MIT */
/* Made by `brace report` on its one thread, before the workers read it. Memory is that of the
 * switches and faults. A thread's notices come by the kernel's clock, calls by the processor's: a
 * notice within some 100 ns of a call's begin or end may be counted for the wrong side. Records may
 * be a damaged file's: times that go back are taken as the ones before. */
#include "report/thread_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "event/format.h"
#include "report/counter_events.h"
#include "report/event_fields.h"

/* off, asleep: ticks of all periods off the processor up to this one's end. */
struct off_processor { uint64_t from, to, off, asleep; bool sleeps; };

struct counted_thread {
	uint32_t tid;
	uint64_t left;          /* the processor, then; 0: it has it, or nobody knows */
	bool sleeps;            /* it left of its own accord */
	VEC(struct off_processor) off;
	VEC(uint64_t) faults;   /* when */
};

struct thread_counters {
	VEC(struct counted_thread) threads; /* by tid */
	uint32_t switches, faults;          /* numbers of the events; UINT32_MAX: none */
	uint16_t prev, state;               /* offsets of fields */
};

#define SLEEPS 0xffu /* of prev_state: as in kernel_times.c */

/* --- which events ------------------------------------------------------------------------- */

/* NULL: the trace does not have it. */
static const struct trace_event *find_event(const struct trace_info *info,
					    enum counter_event_kind kind)
{
	for (size_t i = 0; i < info->events.n; i++)
		if (counter_events_kind(&info->events.at[i]) == kind)
			return &info->events.at[i];
	return NULL;
}

/* 0: the trace has counters. */
int thread_counters_check(const struct trace_info *info, struct err *err)
{
	if (trace_info_is_merged(info))
		return err_set(err, ENOENT,
			       "a trace of a program and the kernel has no counters: its columns "
			       "KERNEL and BLOCKED tell where the time went");
	if (find_event(info, COUNTER_SWITCHES))
		return 0;
	return err_set(err, ENOENT,
		       "the trace has no counters: brace record --counters records them");
}

/* Where the fields are is asked of the trace's own formats: they are its kernel's. */
static void find_events(struct thread_counters *c, const struct trace_info *info)
{
	const struct trace_event *s = find_event(info, COUNTER_SWITCHES),
				 *f = find_event(info, COUNTER_FAULTS);
	struct event_format *format =
		s ? event_format_parse(s->format, strlen(s->format), s->system, NULL) : NULL;

	c->switches = c->faults = UINT32_MAX;
	if (f)
		c->faults = f->index;
	if (!format)
		return;
	c->prev = event_fields_offset(format, "prev_pid", 4);
	c->state = event_fields_offset(format, "prev_state", 8);
	if (c->prev && c->state)
		c->switches = s->index;
	event_format_free(format);
}

/* --- threads ------------------------------------------------------------------------------ */

/* Sorted by number; valid until another thread is added. */
static struct counted_thread *thread_of(struct thread_counters *c, uint32_t tid)
{
	size_t n = vec_bisect(&c->threads, t, t->tid < tid);

	if (n < c->threads.n && c->threads.at[n].tid == tid)
		return &c->threads.at[n];
	(void)vec_add(&c->threads);
	memmove(c->threads.at + n + 1, c->threads.at + n,
		(c->threads.n - 1 - n) * sizeof(*c->threads.at));
	c->threads.at[n] = (struct counted_thread){ .tid = tid };
	return &c->threads.at[n];
}

/* Adds the time that the thread was off, from `left` on. Sums go on from the period before, so that
 * a range needs two look-ups. Periods stay sorted and apart, for vec_bisect(): one that begins
 * before the last ended is cut, also to nothing. It is kept even then, since a switch counts. */
static void add_period(struct counted_thread *t, uint64_t to)
{
	const struct off_processor last =
		t->off.n ? t->off.at[t->off.n - 1] : (struct off_processor){ 0 };
	uint64_t from = t->left > last.to ? t->left : last.to;
	uint64_t ticks = to > from ? to - from : 0;

	*vec_add(&t->off) = (struct off_processor){ from, from + ticks, last.off + ticks,
						 last.asleep + (t->sleeps ? ticks : 0),
						 t->sleeps };
	t->left = 0;
}

/* The event is the thread's own: it stops if it is the one before, and goes on otherwise. A second
 * departure without a return between (records were lost) moves `left`: what lies between is not
 * known, and counts as on the processor. */
static void take_switch(struct thread_counters *c, struct counted_thread *t, const struct event *e)
{
	if ((uint32_t)event_fields_number(e, c->prev, 4) == t->tid) {
		t->left = e->tsc;
		t->sleeps = event_fields_number(e, c->state, 8) & SLEEPS;
	} else if (t->left) {
		add_period(t, e->tsc);
	}
}

/* Faults are in the order of time, whatever the file says. */
static void take_fault(struct counted_thread *t, uint64_t tsc)
{
	uint64_t last = t->faults.n ? t->faults.at[t->faults.n - 1] : 0;

	*vec_add(&t->faults) = tsc > last ? tsc : last;
}

static void take_event(struct thread_counters *c, const struct trace_info *info,
		       const struct event *e)
{
	struct counted_thread *t;

	if (e->kind != EVENT_TRACE || e->thread >= info->threads.n ||
	    (e->fn != c->switches && e->fn != c->faults))
		return;
	t = thread_of(c, info->threads.at[e->thread].tid);
	if (e->fn == c->switches)
		take_switch(c, t, e);
	else
		take_fault(t, e->tsc);
}

/* *out: only if 0 is returned. A thread that was off at the end was so to the last event. */
int thread_counters_make(struct source *source, struct thread_counters **out, struct err *err)
{
	struct thread_counters *c = mem_zalloc(sizeof(*c));
	struct event e, last = { 0 };
	int r;

	find_events(c, source->info);
	while ((r = source->ops->next(source, &e, err)) > 0) {
		take_event(c, source->info, &e);
		last = e;
	}
	/* A thread that never went on again was off to the end. */
	for (size_t i = 0; i < c->threads.n; i++)
		if (c->threads.at[i].left)
			add_period(&c->threads.at[i], last.tsc);
	if (r >= 0) {
		*out = c;
		return 0;
	}
	thread_counters_free(c);
	return r;
}

void thread_counters_free(struct thread_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->threads.n; i++) {
		vec_free(&c->threads.at[i].off);
		vec_free(&c->threads.at[i].faults);
	}
	vec_free(&c->threads);
	free(c);
}

/* --- asking ------------------------------------------------------------------------------- */

/* All that was before a time; cpu: ticks off the processor, for the caller to take off. Two of
 * these are subtracted, so that a call costs two searches and no walk over its switches. */
static struct thread_count before(const struct counted_thread *t, uint64_t tsc)
{
	size_t n = vec_bisect(&t->off, p, p->from < tsc);
	const struct off_processor *p = n ? &t->off.at[n - 1] : NULL;
	struct thread_count count = { .switches = n };
	uint64_t rest;

	count.faults = vec_bisect(&t->faults, f, *f < tsc);
	if (!p)
		return count;
	rest = p->to > tsc ? p->to - tsc : 0;
	count.cpu = p->off - rest;
	count.asleep = p->asleep - (p->sleeps ? rest : 0);
	return count;
}

/* from..to in ticks. A thread without a switch in the trace had its processor all the time. */
struct thread_count thread_counters_between(const struct thread_counters *c, uint32_t tid,
					    uint64_t from, uint64_t to)
{
	size_t n = vec_bisect(&c->threads, t, t->tid < tid);
	struct thread_count a, b;

	if (to <= from)
		return (struct thread_count){ 0 };
	if (n == c->threads.n || c->threads.at[n].tid != tid)
		return (struct thread_count){ .cpu = to - from };
	a = before(&c->threads.at[n], from);
	b = before(&c->threads.at[n], to);
	return (struct thread_count){ to - from - (b.cpu - a.cpu), b.asleep - a.asleep,
				      b.switches - a.switches, b.faults - a.faults };
}
