/* SPDX-License-Identifier: MIT */
/* Goes through a whole trace once, follows its calls, and keeps the site of each call's end under
 * the number of its beginning. All memory is struct callers', at most CALLERS_MOST calls; used on
 * the printer's thread, before it prints. Only reading the trace can fail. A stream that has
 * changed since is noticed by the time kept with each call. */
#include "report/callers.h"

#include <stdlib.h>

#include "trace/stack_numbers.h"
#include "trace/tracks.h"

#define NO_CALL UINT64_MAX

/* The numbers of the open calls of a stack, by depth. */
typedef VEC(uint64_t) open_calls;

/* begin: the lower bits of its TSC, by which a stream that has changed is noticed */
struct call { uint32_t begin, site; };

struct callers {
	VEC(struct call) at;
	uint64_t calls;
	struct stack_numbers numbers;
	VEC(open_calls) stacks;       /* by number */
};

struct report_search {
	struct callers *callers;
	const struct trace_info *info;
};

static open_calls *stack_of(struct report_search *f, const struct call_step *s)
{
	uint32_t number = stack_number(&f->callers->numbers, f->info, s);

	while (f->callers->stacks.n <= number)
		*vec_add(&f->callers->stacks) = (open_calls){ 0 };
	return &f->callers->stacks.at[number];
}

/* calls_emit: a call's beginning takes the next number; its end tells the site, for that number. */
static void note_caller(void *arg, const struct call_step *s)
{
	struct report_search *f = arg;
	struct callers *c = f->callers;
	open_calls *open;

	if (s->kind != CALL_ENTER && s->kind != CALL_LEAVE)
		return;
	open = stack_of(f, s);
	while (open->n <= s->depth)
		*vec_add(open) = NO_CALL;
	if (s->kind == CALL_ENTER) {
		open->at[s->depth] = c->calls++;
		if (c->at.n < CALLERS_MOST)
			*vec_add(&c->at) = (struct call){ .begin = (uint32_t)s->tsc };
		return;
	}
	if (!(s->flags & (CALL_UNWOUND | CALL_UNFINISHED)) && open->at[s->depth] < c->at.n)
		c->at.at[open->at[s->depth]].site = s->site;
	open->at[s->depth] = NO_CALL;
}

/* Frees what only the search needs. */
static void forget_stacks(struct callers *c)
{
	for (size_t i = 0; i < c->stacks.n; i++)
		vec_free(&c->stacks.at[i]);
	vec_free(&c->stacks);
	stack_numbers_free(&c->numbers);
}

/* Closes the source, which has been read to its end. NULL with *err. */
struct callers *callers_find(struct source *source, struct err *err)
{
	struct callers *c = mem_zalloc(sizeof(*c));
	struct report_search f = { c, source->info };
	struct sites sites;
	struct tracks tracks;
	struct event e;
	int r;

	sites_init(&sites, source->info);
	tracks_init(&tracks, source->info, &sites);
	/* Events are no calls; a thread that the trace's table lacks comes from a broken file. */
	while ((r = source->ops->next(source, &e, err)) > 0)
		if (e.thread < source->info->threads.n && e.kind != EVENT_TRACE)
			tracks_feed(&tracks, tracks_lane(&tracks, e.thread), &e, note_caller, &f);
	source->ops->close(source);
	tracks_free(&tracks);
	sites_free(&sites);
	forget_stacks(c);
	if (r == 0)
		return c;
	callers_free(c);
	return NULL;
}

/* 0: the call did not return, or was not seen, or the stream is another one than the one
 * searched. */
uint32_t callers_site(const struct callers *c, uint64_t i, uint64_t tsc)
{
	return i < c->at.n && c->at.at[i].begin == (uint32_t)tsc ? c->at.at[i].site : 0;
}

void callers_free(struct callers *c)
{
	if (c)
		vec_free(&c->at);
	free(c);
}
