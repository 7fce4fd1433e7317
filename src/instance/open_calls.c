/* SPDX-License-Identifier: MIT */
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
	vec_free(&o->twins);
}

static void nothing(void *arg, const struct call_step *step)
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
		tracks_feed(&o->tracks, tracks_lane(&o->tracks, e->thread), e, nothing, NULL);
}

uint64_t open_calls_function(const struct trace_info *info, uint32_t image, uint32_t fn)
{
	const struct trace_module *module;
	const struct trace_function *f = trace_info_function(info, image, fn, &module);

	return f ? module->base + f->vaddr : 0;
}

static size_t add(uint64_t *to, size_t n, size_t max, uint64_t address)
{
	if (!address || n == max)
		return n;
	to[n] = address;
	return n + 1;
}

/* The kernel tells of some threads' switches and signals in a place of its own: where they are, their own records say. Threads that
 * came since are looked at only. */
static uint32_t twin_of(struct open_calls *o, uint32_t thread)
{
	const struct trace_thread *t = &o->info->threads.at[thread];
	struct twin *twin;

	for (uint32_t i = (uint32_t)o->twins.n; i <= thread; i++)
		*vec_add(&o->twins) = (struct twin){ i, 0 };
	for (twin = &o->twins.at[thread]; twin->seen < o->info->threads.n; twin->seen++)
		if (o->info->threads.at[twin->seen].tid == t->tid && o->info->threads.at[twin->seen].pid == t->pid &&
		    twin->seen != thread)
			twin->thread = twin->seen;
	return twin->thread;
}

/* Whether the code around the address is the function's. */
static bool is_within(const struct open_calls *o, const struct event *e, uint32_t image, uint64_t address, uint64_t function)
{
	const struct trace_module *module;
	const struct trace_function *f = trace_info_function_at(o->info, image, address - 1, e->tsc, &module);

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

	if (!calls->n && e->kind == EVENT_TRACE)
		calls = &tracks_lane(&o->tracks, twin_of(o, e->thread))->now->calls;
	if (e->kind == EVENT_CALL || e->kind == EVENT_ENTRY_ONLY || only_last) {
		n = add(to, n, max, open_calls_function(o->info, image, only_last ? last->fn : e->fn));
		site = trace_info_site(o->info, image, only_last ? last->site : e->site);
	}
	outer = calls->n ? open_calls_function(o->info, image, calls->at[calls->n - 1].fn) : 0;
	if (site && !is_within(o, e, image, site, outer)) /* by a function that is not traced */
		n = add(to, n, max, site);
	for (size_t i = calls->n; i-- > 0 && n < max;)
		n = add(to, n, max, open_calls_function(o->info, image, calls->at[i].fn));
	return n;
}
