/* SPDX-License-Identifier: MIT */
/* News from planners and programs while the session runs: new images with their modules and
 * events, functions that were not hooked after all, call sites. session_catch_up() (account.c)
 * calls it on the session's thread, which owns the trace_info. Nothing here can fail: what a
 * program writes into its image memory is counts and addresses, which are bounded and only
 * shown. */
#include <string.h>
#include <sys/mman.h>

#include "hook/plan.h"
#include "session/control.h"
#include "session/internal.h"

/* For a later tracer that has to make sense of the records without us (recover.c). */
static void note_module(const struct session *s, uint32_t image, const struct trace_module *m)
{
	struct image_memory *memory =
		image < s->image_memory.n ? (void *)s->image_memory.at[image] : NULL;

	if (!memory || !m->functions.n || memory->n_modules >= IMAGE_MODULES)
		return;
	/* Read by names_of_process() of a later brace, from the process: the entry is whole before
	 * it counts. */
	memory->modules[memory->n_modules] = (struct image_module){ m->start, m->first_id, 0 };
	/* Pairs with no acquire in this process: number_functions() of names.c reads the memory
	 * through /proc. */
	__atomic_store_n(&memory->n_modules, memory->n_modules + 1, __ATOMIC_RELEASE);
}

/* The known module with as many functions at the same place; NULL: there is none. */
static struct trace_module *same_module(struct session *s, const struct trace_module *m)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		struct trace_module *k = &s->info->modules.at[i];

		if (k->image == m->image && k->first_id == m->first_id &&
		    k->functions.n == m->functions.n && k->start == m->start &&
		    strcmp(k->path, m->path) == 0)
			return k;
	}
	return NULL;
}

/* The place in known's strings of the string at `from` of m's; was: where the one before is. */
static uint32_t string_again(struct trace_module *known, const struct trace_module *m,
			     uint32_t was, uint32_t from)
{
	const char *now = m->strings.at + from;
	uint32_t at = (uint32_t)known->strings.n;

	if (was && strcmp(known->strings.at + was, now) == 0)
		return was;
	do
		*vec_add(&known->strings) = *now;
	while (*now++);
	return at;
}

/* Arguments are recorded from now on: the variables come with the module's second description. */
static void take_globals(struct trace_module *known, const struct trace_module *m)
{
	for (size_t i = 0, n = known->globals.n ? 0 : m->globals.n; i < n; i++) {
		struct trace_global g = m->globals.at[i];

		g.name = string_again(known, m, 0, g.name);
		*vec_add(&known->globals) = g;
	}
}

/* After a change of filters a module comes again, with other functions hooked. */
static void take_module(struct session *s, const struct image_update *update,
			struct trace_module *m)
{
	struct trace_module *known = update->again ? same_module(s, m) : NULL;

	if (!known) {
		note_module(s, update->image, m);
		*vec_add(&s->info->modules) = *m;
		return;
	}
	for (size_t i = 0; i < m->functions.n; i++) {
		/* The new name would lie in m's strings, which are freed. */
		uint32_t library = known->functions.at[i].library;
		uint32_t prototype = known->functions.at[i].prototype;
		uint32_t returned = known->functions.at[i].returned;

		/* A prototype that is not asked for any more stays: earlier records need it. */
		if (m->functions.at[i].prototype)
			prototype = string_again(known, m, prototype, m->functions.at[i].prototype);
		if (m->functions.at[i].returned)
			returned = string_again(known, m, returned, m->functions.at[i].returned);
		known->functions.at[i] = m->functions.at[i];
		if (m->functions.at[i].returned)
			known->functions.at[i].returned = returned;
		known->functions.at[i].library = library;
		known->functions.at[i].prototype = prototype;
	}
	take_globals(known, m);
	image_module_free(m);
}

/* Marks a function as not hooked after all. */
static void take_refusal(struct session *s, uint32_t image, const struct image_refusal *r)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		struct trace_module *m = &s->info->modules.at[i];
		uint32_t k = r->function - m->first_id;

		if (m->image != image || r->function < m->first_id || k >= m->functions.n)
			continue;
		m->functions.at[k].hook = HOOK_NONE;
		m->functions.at[k].reason = r->reason;
	}
}

/* A copy with strings of its own, for another image. */
static struct trace_module module_copy(const struct trace_module *m, uint32_t image)
{
	struct trace_module copy = *m;

	copy.image = image;
	copy.path = mem_strdup(m->path);
	copy.name = mem_strdup(m->name);
	memset(&copy.functions, 0, sizeof(copy.functions));
	memset(&copy.strings, 0, sizeof(copy.strings));
	memset(&copy.globals, 0, sizeof(copy.globals));
	vec_reserve(&copy.functions, m->functions.n + 1);
	vec_reserve(&copy.strings, m->strings.n + 1);
	for (size_t i = 0; i < m->functions.n; i++)
		*vec_add(&copy.functions) = m->functions.at[i];
	for (size_t i = 0; i < m->strings.n; i++)
		*vec_add(&copy.strings) = m->strings.at[i];
	for (size_t i = 0; i < m->globals.n; i++)
		*vec_add(&copy.globals) = m->globals.at[i];
	return copy;
}

/* The image's modules are another image's, too (PROTOCOL_USER). */
static void take_copies(struct session *s, const struct image_update *update)
{
	for (size_t i = 0, n = s->info->modules.n; i < n; i++)
		if (s->info->modules.at[i].image == update->of) {
			const struct trace_module copy =
				module_copy(&s->info->modules.at[i], update->image);

			*vec_add(&s->info->modules) = copy;
		}
}

/* Takes over the image that the update is of. */
static void take_image(struct session *s, const struct image_update *update)
{
	*vec_add(&s->live_images) =
		(struct live_image){ (uint32_t)s->image_memory.n, update->watch };
	*vec_add(&s->info->images) = update->about;
	*vec_add(&s->image_memory) = update->memory;
}

bool session_take_updates(struct session *s)
{
	struct image_update update;
	bool any = false;

	while (control_next_update(s->control, &update)) {
		any = true;
		if (!update.addition)
			take_image(s, &update);
		if (update.is_copy)
			take_copies(s, &update);
		for (size_t i = 0; i < update.modules.n; i++)
			take_module(s, &update, &update.modules.at[i]);
		for (size_t i = 0; i < update.events.n; i++)
			trace_info_add_event(s->info, update.events.at[i]);
		for (size_t i = 0; i < update.refused.n; i++)
			take_refusal(s, update.image, &update.refused.at[i]);
		if (update.addition)
			image_update_drop(&update);
		vec_free(&update.modules);
		vec_free(&update.events);
		vec_free(&update.refused);
	}
	return any;
}

/* 0: not known yet, or there is no such site. */
static uint64_t site_return(const struct session *s, uint32_t image, uint32_t site)
{
	const struct image_memory *m = s->image_memory.at[image];

	return m && memory_site_id_exists(site)
		       ? __atomic_load_n(&m->sites[memory_site_count_of_id(site)], __ATOMIC_RELAXED)
		       : 0;
}

/* Sites become known soon: before the first record that has such a number. */
static void fill_holes(struct session *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->site_holes.n; i++) {
		const struct site_hole h = s->site_holes.at[i];
		uint64_t ret = site_return(s, h.image, h.site);

		if (ret)
			s->info->images.at[h.image].sites.at[h.site] = ret;
		else
			s->site_holes.at[kept++] = h;
	}
	s->site_holes.n = kept;
}

/* Adds the next site. A site that is not written yet becomes a hole. */
static void add_site(struct session *s, uint32_t image)
{
	struct trace_image *to = &s->info->images.at[image];
	uint32_t site = (uint32_t)to->sites.n;
	uint64_t ret = site_return(s, image, site);

	*vec_add(&to->sites) = ret;
	if (!ret && memory_site_id_exists(site))
		*vec_add(&s->site_holes) = (struct site_hole){ image, site };
}

/* Adds an image's sites that threads have taken since. */
static void take_sites_of(struct session *s, uint32_t image)
{
	const struct image_memory *m = s->image_memory.at[image];
	/* Pairs with nothing: the agent raises next_site relaxed (agent/site.c), and a site that
	 * is not there yet becomes a hole. */
	uint32_t count = m ? __atomic_load_n(&m->next_site, __ATOMIC_ACQUIRE) : 0;
	uint32_t id = count ? memory_site_id_of_count(count - 1) : 0;

	if (!count || id >= SITE_IDS)
		return;
	while (s->info->images.at[image].sites.n <= id)
		add_site(s, image);
}

/* No process has the image any more, and its sites were taken: frees its memory. Its holes stay
 * unknown. */
static void leave_image(struct session *s, uint32_t image)
{
	size_t kept = 0;

	munmap((void *)s->image_memory.at[image], sizeof(struct image_memory));
	s->image_memory.at[image] = NULL;
	s->info->images.at[image].complete = true;
	control_image_ended(s->control, image);
	for (size_t i = 0; i < s->site_holes.n; i++)
		if (s->site_holes.at[i].image != image)
			s->site_holes.at[kept++] = s->site_holes.at[i];
	s->site_holes.n = kept;
}

/* Ends are heard first: what an image's processes wrote before its end is then seen. */
void session_take_sites(struct session *s)
{
	size_t kept = 0;

	memory_ends_hear(&s->image_ends);
	fill_holes(s);
	for (size_t i = 0; i < s->live_images.n; i++) {
		const struct live_image live = s->live_images.at[i];

		take_sites_of(s, live.image);
		if (memory_ends_take(&s->image_ends, live.watch))
			leave_image(s, live.image);
		else
			s->live_images.at[kept++] = live;
	}
	s->live_images.n = kept;
}
