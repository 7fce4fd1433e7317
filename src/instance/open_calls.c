/* SPDX-License-Identifier: MIT */
/* Follows calls from record to record, with the trackers of trace/tracks.h, so that a stack can be
 * told at any record. With the function tracer, whose records have no return, only the last call is
 * known. triggers.c feeds every record that it looks at, in order of time. Nothing fails. */
#include "instance/open_calls.h"

#include "base/mem.h"

void open_calls_init(struct open_calls *o, const struct trace_info *info)
{
	*o = (struct open_calls){ .info = info };
	sites_init(&o->sites, info);
	tracks_init(&o->tracks, info, &o->sites);
}

void open_calls_free(struct open_calls *o)
{
	tracks_free(&o->tracks);
	sites_free(&o->sites);
	vec_free(&o->last);
	vec_free(&o->predecessors);
}

/* The tracks' state is all that is needed; the steps are dropped. */
static void ignore_step(void *arg, const struct call_step *step)
{
}

static struct last_call *last_of(struct open_calls *o, uint32_t thread)
{
	while (o->last.n <= thread)
		*vec_add(&o->last) = (struct last_call){ 0 };
	return &o->last.at[thread];
}

void open_calls_feed(struct open_calls *o, const struct event *e)
{
	if (e->kind == EVENT_CALL)
		*last_of(o, e->thread) = (struct last_call){ true, e->fn, e->site };
	else
		tracks_feed(&o->tracks, tracks_lane(&o->tracks, e->thread), e, ignore_step, NULL);
}

uint64_t open_calls_function(const struct trace_info *info, uint32_t image, uint32_t fn)
{
	const struct trace_module *module;
	const struct trace_function *f = trace_info_function(info, image, fn, &module);

	return f ? module->base + f->vaddr : 0;
}

static size_t add_address(uint64_t *to, size_t n, size_t max, uint64_t address)
{
	if (!address || n == max)
		return n;
	to[n] = address;
	return n + 1;
}

/* Returns the thread whose records tell the calls of `thread`. Events from the kernel (switches,
 * signals) may come under a slot of their own (collect/switches.h), which has no calls: the
 * programs' own records of the thread with the same number have them. Only threads that were added
 * since the last call are compared. */
static uint32_t predecessor_of(struct open_calls *o, uint32_t thread)
{
	const struct trace_thread *t = &o->info->threads.at[thread];
	struct predecessor *predecessor;

	for (uint32_t i = (uint32_t)o->predecessors.n; i <= thread; i++)
		*vec_add(&o->predecessors) = (struct predecessor){ i, 0 };
	for (predecessor = &o->predecessors.at[thread]; predecessor->seen < o->info->threads.n;
	     predecessor->seen++)
		if (o->info->threads.at[predecessor->seen].tid == t->tid &&
		    o->info->threads.at[predecessor->seen].pid == t->pid &&
		    predecessor->seen != thread)
			predecessor->thread = predecessor->seen;
	return predecessor->thread;
}

/* Whether the code around the return address belongs to the function. */
static bool is_within(const struct open_calls *o, const struct event *e, uint32_t image,
		      uint64_t address, uint64_t function)
{
	const struct trace_module *module;
	const struct trace_function *f =
		trace_info_function_at(o->info, image, address - 1, e->tsc, &module);

	return f && module->base + f->vaddr == function;
}

size_t open_calls_addresses(struct open_calls *o, const struct event *e, uint64_t *to, size_t max)
{
	uint32_t image = o->info->threads.at[e->thread].image;
	const struct calls *calls = &tracks_lane(&o->tracks, e->thread)->now->calls;
	const struct last_call *last = last_of(o, e->thread);
	bool only_last = !calls->n && last->known;
	uint64_t site = 0, outer;
	size_t n = 0;

	/* An event of the kernel's: look where the thread itself records. */
	if (!calls->n && e->kind == EVENT_TRACE)
		calls = &tracks_lane(&o->tracks, predecessor_of(o, e->thread))->now->calls;
	/* A call that has just been entered is not among the open ones, or is with no return. */
	if (e->kind == EVENT_CALL || e->kind == EVENT_ENTRY_ONLY || only_last) {
		n = add_address(to, n, max,
				open_calls_function(o->info, image, only_last ? last->fn : e->fn));
		site = trace_info_site(o->info, image, only_last ? last->site : e->site);
	}
	outer = calls->n ? open_calls_function(o->info, image, calls->at[calls->n - 1].fn) : 0;
	/* the caller is a function that is not traced: its site is all that is known */
	if (site && !is_within(o, e, image, site, outer))
		n = add_address(to, n, max, site);
	for (size_t i = calls->n; i-- > 0 && n < max;)
		n = add_address(to, n, max, open_calls_function(o->info, image, calls->at[i].fn));
	return n;
}
