/* SPDX-License-Identifier: MIT */
/* Works in two passes: first each thread's spans are read, then the merged stream is read with the
 * openings inserted by time. ui/trace_file.c calls it for `brace replay`, in one thread. A damaged
 * trace is -errno and a sentence. */
#include "report/openings.h"

#include <stdlib.h>

#define BATCH 2048
#define DEPTH_MOST 1023 /* depth of a span beyond which it is not known */

struct stay_opening {
	uint64_t tsc, end;
	uint32_t thread, fn;
	uint16_t cpu, depth;
};

/* A stretch of a thread's records on one CPU. */
struct stay { uint64_t first, last; uint16_t cpu; };

struct openings {
	struct source source;
	struct source *inner;
	VEC(struct stay_opening) at;
	VEC(struct stay) stays; /* of the thread being read */
	size_t next;
	struct event held;      /* inner's next event, which follows openings */
	int got;                /* the result of inner's next(); 0: nothing is held */
};

/* Extends the current stay, or begins one. */
static void note_cpu(struct openings *o, const struct event *e)
{
	struct stay *last = o->stays.n ? &o->stays.at[o->stays.n - 1] : NULL;
	/* Before its first record the thread is taken to have been on that record's CPU. */
	uint64_t first = last ? e->tsc : 0;

	if (last && last->cpu == e->cpu)
		last->last = e->tsc > last->last ? e->tsc : last->last;
	else
		*vec_add(&o->stays) = (struct stay){ first, e->tsc, e->cpu };
}

/* The stay that contains the time, or NULL: the thread was between two CPUs. */
static const struct stay *stay_at(const struct openings *o, uint64_t tsc)
{
	size_t n = vec_bisect(&o->stays, s, s->first <= tsc);

	return n && tsc <= o->stays.at[n - 1].last ? &o->stays.at[n - 1] : NULL;
}

/* Left out: a span whose beginning is in no stay, and a depth that stands for "not known". One more
 * than OPENINGS_MOST is noted, by which read_openings() sees that there are too many. */
static void note_span(struct openings *o, const struct event *e)
{
	const struct stay *stay = stay_at(o, e->begin);

	if (stay && e->begin < e->tsc && e->count < DEPTH_MOST && o->at.n <= OPENINGS_MOST)
		*vec_add(&o->at) = (struct stay_opening){ e->begin, e->tsc,    e->thread,
							  e->fn,    stay->cpu, (uint16_t)e->count };
}

/* Notes the beginnings of the thread's calls that are told only at their ends. */
static int read_thread(struct openings *o, const struct summary_input *in, uint32_t thread,
		       struct event *events, struct err *err)
{
	void *cursor = in->open(in->of, thread);
	int n = 0;

	o->stays.n = 0;
	while (cursor && (n = in->next(cursor, events, BATCH, err)) > 0)
		for (int i = 0; i < n; i++) {
			note_cpu(o, &events[i]);
			if (events[i].kind == EVENT_SPAN)
				note_span(o, &events[i]);
		}
	if (cursor)
		in->close(cursor);
	return n;
}

/* Outer calls before inner ones of the same time. */
static int by_time(const void *a, const void *b)
{
	const struct stay_opening *x = a, *y = b;

	if (x->tsc != y->tsc)
		return x->tsc < y->tsc ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* All threads' beginnings, by time; none if there are more than OPENINGS_MOST. */
static int read_openings(struct openings *o, const struct summary_input *in, struct err *err)
{
	struct event *events = mem_realloc(NULL, BATCH, sizeof(*events));
	int r = 0;

	for (uint32_t i = 0; i < in->info->threads.n && r == 0 && o->at.n <= OPENINGS_MOST; i++)
		r = read_thread(o, in, i, events, err);
	free(events);
	vec_free(&o->stays);
	/* Some of the openings would mislead more than none. */
	if (o->at.n > OPENINGS_MOST)
		o->at.n = 0;
	if (o->at.n)
		qsort(o->at.at, o->at.n, sizeof(*o->at.at), by_time);
	return r;
}

/* Merges the noted beginnings into the inner source's events, by time. */
static int openings_next(struct source *source, struct event *out, struct err *err)
{
	struct openings *o = (struct openings *)source;
	const struct stay_opening *a = o->next < o->at.n ? &o->at.at[o->next] : NULL;

	if (o->got <= 0)
		o->got = o->inner->ops->next(o->inner, &o->held, err);
	/* At equal times the opening comes first: the other record may lie in the call. */
	if (o->got > 0 && a && a->tsc <= o->held.tsc) {
		*out = (struct event){ .tsc = a->tsc,
				       .begin = a->end,
				       .count = a->depth,
				       .thread = a->thread,
				       .fn = a->fn,
				       .cpu = a->cpu,
				       .kind = EVENT_OPEN };
		o->next++;
		return 1;
	}
	if (o->got <= 0)
		return o->got;
	*out = o->held;
	o->got = 0;
	return 1;
}

static void openings_close(struct source *source)
{
	struct openings *o = (struct openings *)source;

	o->inner->ops->close(o->inner);
	vec_free(&o->at);
	free(o);
}

struct source *openings_add(struct source *inner, const struct summary_input *in, struct err *err)
{
	static const struct source_ops ops = { openings_next, openings_close };
	struct openings *o = mem_zalloc(sizeof(*o));

	o->source.ops = &ops;
	o->source.info = inner->info;
	o->inner = inner;
	if (in->info->exclude_sleep || read_openings(o, in, err) == 0)
		return &o->source;
	openings_close(&o->source);
	return NULL;
}
