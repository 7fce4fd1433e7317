#include "live/open_calls.h"

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

static uint64_t address_of(const struct trace_info *info, uint32_t image, uint32_t fn)
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

size_t open_calls_addresses(struct open_calls *o, const struct event *e, uint64_t *to, size_t max)
{
	uint32_t image = o->info->threads.at[e->thread].image;
	const struct calls *calls = &tracks_lane(&o->tracks, e->thread)->now->calls;
	const struct last_call *last = last_of(o, e->thread);
	bool only_last = !calls->n && last->known;
	size_t n = 0;

	if (only_last || e->kind == EVENT_CALL || e->kind == EVENT_ENTRY_ONLY)
		n = add(to, n, max, address_of(o->info, image, only_last ? last->fn : e->fn));
	for (size_t i = calls->n; i-- > 0 && n < max;)
		n = add(to, n, max, address_of(o->info, image, calls->at[i].fn));
	if (only_last)
		n = add(to, n, max, trace_info_site(o->info, image, last->site));
	return n;
}
