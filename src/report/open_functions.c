/* SPDX-License-Identifier: MIT */
/* The stacks of ids that trace/tracks.h tells step by step. One thread feeds and asks. Nothing
 * fails; calls that are nested deeper than DEPTH_MOST are left out. */
#include "report/open_functions.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/tracks.h"

/* A list grows to its deepest call and is kept for the thread's life: a damaged file, or recursion
 * without end, must not make it grow without a bound. */
#define DEPTH_MOST 4096u

struct open_stack { VEC(uint32_t) ids; };

struct open_functions {
	struct sites sites;
	struct tracks tracks;
	const struct trace_info *info;
	VEC(struct open_stack) threads;
};

struct open_functions *open_functions_new(const struct trace_info *info)
{
	struct open_functions *o = mem_zalloc(sizeof(*o));

	o->info = info;
	sites_init(&o->sites, info);
	tracks_init(&o->tracks, info, &o->sites);
	return o;
}

void open_functions_free(struct open_functions *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->threads.n; i++)
		vec_free(&o->threads.at[i].ids);
	vec_free(&o->threads);
	tracks_free(&o->tracks);
	sites_free(&o->sites);
	free(o);
}

/* calls_emit. The depth is that of the stack the thread is on: on another one it begins anew. A
 * return whose entry is missing shortens the list no further than to its own depth, and an entry
 * above a gap is not added: a list has no holes, but may lack its innermost calls. */
static void take_step(void *arg, const struct call_step *s)
{
	struct open_functions *o = arg;
	struct open_stack *t;

	if ((s->kind != CALL_ENTER && s->kind != CALL_LEAVE) || s->depth >= DEPTH_MOST)
		return;
	while (o->threads.n <= s->thread)
		*vec_add(&o->threads) = (struct open_stack){ 0 };
	t = &o->threads.at[s->thread];
	if (t->ids.n > s->depth)
		t->ids.n = s->depth;
	if (s->kind == CALL_ENTER && t->ids.n == s->depth)
		*vec_add(&t->ids) = s->fn;
}

void open_functions_event(struct open_functions *o, const struct event *e)
{
	/* Events of the program change nothing, and are most of what comes here. */
	if (e->kind != EVENT_TRACE && e->thread < o->info->threads.n)
		tracks_feed(&o->tracks, tracks_lane(&o->tracks, e->thread), e, take_step, o);
}

/* The innermost comes first, so that a caller with little room has the calls that tell most. */
unsigned open_functions_copy(const struct open_functions *o, uint32_t thread, uint32_t *ids,
			     unsigned most)
{
	const struct open_stack *t = thread < o->threads.n ? &o->threads.at[thread] : NULL;
	unsigned n = 0;

	while (t && n < most && n < t->ids.n) {
		ids[n] = t->ids.at[t->ids.n - 1 - n];
		n++;
	}
	return n;
}
