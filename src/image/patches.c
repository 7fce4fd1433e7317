/* SPDX-License-Identifier: MIT */
/* Lets the sources of patches (patch_source.h) write code into a memory file that the process will
 * map. Part of one plan, on its thread. Addresses are chosen by maps_find_room(): the agent, or
 * inject/attach.c, maps there or reports that it could not. A patch that finds no room is left out,
 * with its reason. */
#include "image/patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/page.h"
#include "image/event_sites.h"
#include "image/function_patches.h"
#include "image/probe_patches.h"
#include "collect/shared_memory.h"
#include "image/task_points.h"


/* In the order in which they write. Static events and intercepted calls want bytes that no function
 * may move; a probe may share a function's jump, so functions come before. */
static const struct patch_source *const sources[] = {
	&event_site_patches, &intercept_patches, &function_patches, &probe_patches,
};
#define SOURCES (sizeof(sources) / sizeof(*sources))

static uint64_t pages(uint64_t n)
{
	return (n + ARCH_PAGE - 1) & ~(ARCH_PAGE - 1);
}

/* --- what they need --------------------------------------------------------------------------- */

/* Upper limit of the bytes in the module's region, with room for one trampoline more. */
static uint64_t room_for(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = sizeof(struct trampoline_pool) + TRAMPOLINE_MAX_BYTES;

	for (size_t i = 0; i < SOURCES; i++)
		bytes += sources[i]->room(mod, req);
	return pages(bytes);
}

/* Upper limit of the module's patches. 0: it gets no region. */
static uint64_t patches_max(const struct module *mod)
{
	uint64_t n = 0;
	bool any = false;

	for (size_t i = 0; i < SOURCES; i++) {
		uint32_t more = sources[i]->patches(mod);

		any |= more && !sources[i]->along;
		n += more;
	}
	return any ? n : 0;
}

/* Nothing of the module is hooked: there is no room near it. */
static void refuse_all(struct module *mod)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i]->refuse)
			sources[i]->refuse(mod);
}

void patches_choose(struct module *mod, const struct event_set *set, const handler_list *handlers)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i]->choose)
			sources[i]->choose(mod, set, handlers);
}

/* Events that every program has belong to no module, and follow. */
void patches_describe(const struct modules *m, const struct event_set *set,
		      struct image_update *update)
{
	uint32_t n = set && set->catalogue ? events_n(set->catalogue) : 0;

	for (size_t i = 0; i < m->at.n; i++)
		for (size_t k = 0; k < SOURCES; k++)
			if (sources[k]->describe)
				sources[k]->describe(&m->at.at[i], set, update);
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (e->provider->add_common && event_set_armed(set, i))
			*vec_add(&update->events) = e;
	}
}

/* --- the memory ------------------------------------------------------------------------------- */

/* The words at the region's beginning through which its code reaches the agent. */
static void write_pool(const struct patch_job *j)
{
	const struct protocol_hello *h = j->req->hello;
	const struct trampoline_pool pool = { h->slow_record,  h->slow_record2, h->slow_entry,
					      h->slow_site,    h->state_entry,	h->slow_nonlocal,
					      h->arena,	       h->find_fde,	h->find_object,
					      h->iterate_phdr, h->probe,	h->syscall,
					      h->delivery,     h->arguments,
					      h->lock };

	memcpy(j->code, &pool, sizeof(pool));
}

/* The code memory: every region's code in whole pages, the regions, the texts, then the patches.
 * With `tasks`, behind them, the events that a program tells when it begins. */
static int make_code_memory(struct image *out, uint64_t code_bytes, uint64_t regions,
			    uint64_t texts, uint64_t n_patches, const struct event_set *tasks,
			    struct err *err)
{
	uint64_t regions_at = code_bytes;
	uint64_t texts_at = regions_at + regions * sizeof(struct patch_region);
	uint64_t patches_at = pages(texts_at + texts * sizeof(struct patch_text));
	uint64_t patches_end = patches_at + n_patches * sizeof(struct patch);

	out->setup.regions_at = regions_at;
	out->setup.texts_at = texts_at;
	out->setup.patches_at = patches_at;
	out->setup.tasks_at = tasks ? patches_end : 0;
	/* 1 byte more: a memory of 0 bytes could not be mapped. */
	out->setup.code_size = pages(patches_end + (tasks ? task_points_bytes(tasks) : 0) + 1);
	out->code_fd =
		shared_memory_file("brace-code", out->setup.code_size, true, &out->code, err);
	if (out->code_fd >= 0 && tasks)
		task_points_write(tasks, (void *)((char *)out->code + patches_end), false);
	return out->code_fd < 0 ? out->code_fd : 0;
}

/* A byte for each region and patch, by which the agent answers. */
static int make_answer_memory(struct image *out, struct err *err)
{
	/* 1 byte more: a memory of 0 bytes could not be mapped. */
	out->setup.answers_size = pages(out->setup.n_regions + (uint64_t)out->setup.n_patches + 1);
	out->answers_fd = shared_memory_file("brace-answers", out->setup.answers_size, false,
					     &out->answers, err);
	return out->answers_fd < 0 ? out->answers_fd : 0;
}

/* Whether the mapping is a piece of the text of a module that has patches. */
static bool is_hooked(const struct modules *modules, const struct map *map)
{
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct module *mod = &modules->at.at[i];

		if (modules_is_of(mod, map))
			return map->start >= mod->start && map->start < mod->end &&
			       patches_max(mod);
	}
	return false;
}

/* Lists the mappings in which patches will stand. */
static void list_texts(struct image *out, const struct modules *modules, const struct maps *maps)
{
	struct patch_text *texts = (void *)((char *)out->code + out->setup.texts_at);

	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (m->exec && is_hooked(modules, m))
			texts[out->setup.n_texts++] =
				(struct patch_text){ m->start, m->end - m->start };
	}
}

/* Lists all text mappings, behind the texts with patches. */
static void list_codes(struct image *out, const struct maps *maps)
{
	struct patch_text *codes;

	out->setup.codes_at = out->setup.texts_at + out->setup.n_texts * sizeof(*codes);
	codes = (void *)((char *)out->code + out->setup.codes_at);
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (maps_is_text(m))
			codes[out->setup.n_codes++] =
				(struct patch_text){ m->start, m->end - m->start };
	}
}

/* Lists the constants of the executable, or those of all other modules. Returns how many. */
static uint32_t list_constants_of(const struct maps *maps, const char *exe, bool of_exe,
				  struct patch_text *to)
{
	uint32_t n = 0;

	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (maps_is_constant(maps, i) && (exe && strcmp(m->path, exe) == 0) == of_exe)
			to[n++] = (struct patch_text){ m->start, m->end - m->start };
	}
	return n;
}

/* Lists the mappings that are only read, behind the others. */
static void list_constants(struct image *out, const struct maps *maps)
{
	struct protocol_setup *w = &out->setup;
	struct patch_text *at;

	w->constants_at = w->codes_at + w->n_codes * sizeof(*at);
	at = (void *)((char *)out->code + w->constants_at);
	w->n_lasting = list_constants_of(maps, out->update.about.exe, true, at);
	w->n_constants = list_constants_of(maps, out->update.about.exe, false, at + w->n_lasting);
}

static int by_address(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Whether a program was just executed, and tells of that. */
static bool begins_image(const struct image_request *req)
{
	return !req->again && req->hello->request == PROTOCOL_HELLO && req->events &&
	       task_points_at_begin(task_points_kinds(req->events));
}

/* Makes one module's region: its code goes into the code memory, its patches behind those in the
 * list. Where there is no room, every function of the module is refused. */
static void make_region(struct module *mod, const struct image_request *req, struct maps *maps,
			struct image *out, uint64_t offset, struct patch_list *list)
{
	/* One page more, for the fork guard. */
	uint64_t room = room_for(mod, req),
		 at = maps_find_room(maps, mod->start, mod->end, room + ARCH_PAGE);
	struct patch_job j = {
		.req = req, .mod = mod, .maps = maps, .list = list, .first = list->n,
		.direct = { .mod = mod }, .code = (uint8_t *)out->code + offset,
		.at = at + ARCH_PAGE, .room = room, .fork_guard = at,
		.region = (uint16_t)out->setup.n_regions,
	};
	struct patch_region *region = &out->regions[out->setup.n_regions];

	if (!at) {
		refuse_all(mod);
		return;
	}
	/* The region's layout: the fork guard's page, the pool, each source's code, the lists of
	 * places and islands, the unwind table. */
	write_pool(&j);
	j.used = sizeof(struct trampoline_pool);
	for (size_t i = 0; i < SOURCES; i++) {
		sources[i]->write(&j);
		j.used = patch_aligned(j.used);
	}
	*region = (struct patch_region){
		.address = j.at, .bytes = room, .offset = offset, .fork_guard = at,
		.module = mod->start,
	};
	function_patches_finish(&j, region);
	out->setup.n_regions++;
}

/* The list stays ours; the process gets a copy in the code memory. Sorted, so that a writer in a
 * stopped process finds them in order. */
static void give_copies(struct image *out, const struct patch_list *list)
{
	char *code = out->code;

	out->patches = list->at;
	out->setup.n_patches = (uint32_t)list->n;
	if (list->n) {
		qsort(list->at, list->n, sizeof(list->at[0]), by_address);
		memcpy(code + out->setup.patches_at, list->at, list->n * sizeof(list->at[0]));
	}
	memcpy(code + out->setup.regions_at, out->regions,
	       out->setup.n_regions * sizeof(out->regions[0]));
}

int patches_make(const struct image_request *req, struct modules *modules, struct maps *maps,
		 struct image *out, struct err *err)
{
	struct patch_list list = { 0 };
	uint64_t code_bytes = 0, most = 0, offset = 0;
	uint32_t n_regions = 0;
	int r;

	for (size_t i = 0; i < modules->at.n; i++) {
		struct module *mod = &modules->at.at[i];

		if (patches_max(mod)) {
			code_bytes += room_for(mod, req);
			most += patches_max(mod);
			n_regions++;
		}
	}
	/* Every mapping may be listed three times: with patches, as code, as constant. */
	r = make_code_memory(out, code_bytes, n_regions, 3 * maps->at.n, most,
			     begins_image(req) ? req->events : NULL, err);
	if (r < 0)
		return r;
	out->regions = mem_zalloc((n_regions + 1) * sizeof(*out->regions));
	list_texts(out, modules, maps);
	list_codes(out, maps);
	list_constants(out, maps);
	for (size_t i = 0; i < modules->at.n; i++) {
		uint32_t before = out->setup.n_regions;

		if (!patches_max(&modules->at.at[i]))
			continue;
		make_region(&modules->at.at[i], req, maps, out, offset, &list);
		if (out->setup.n_regions > before)
			offset += out->regions[before].bytes;
	}
	give_copies(out, &list);
	return make_answer_memory(out, err);
}
