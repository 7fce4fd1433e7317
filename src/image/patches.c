/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread. Writes code into a memory file that the process will map; the
 * modules' plans and selections tell for which functions. Addresses are chosen by maps_find_room():
 * the agent, or attach.c, maps there or reports that it could not. */
#include "image/patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/trampoline.h"
#include "image/direct_calls.h"
#include "image/event_sites.h"
#include "image/probe_patches.h"
#include "collect/shared_memory.h"
#include "image/task_points.h"
#include "shared/tls.h"

#define PAGE UINT64_C(4096)
#define TRAMPOLINE_ALIGN UINT64_C(16)

/* The work on one module. */
struct patch_job {
	const struct image_request *req;
	struct module *mod;
	struct trampoline_env env;
	struct direct_calls direct;
	uint8_t *code;            /* the region's bytes, in the code memory */
	uint64_t at, room, used;  /* runtime address of the region, its size, bytes used */
	uint16_t region;
	VEC(struct trampoline_place) places;
};

static uint64_t pages(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

static uint64_t aligned(uint64_t n)
{
	return (n + TRAMPOLINE_ALIGN - 1) & ~(TRAMPOLINE_ALIGN - 1);
}

/* By [may begin a graph][entry only]. */
static const enum trampoline_kind no_tls_kinds[2][2] = {
	{ TRAMPOLINE_NO_TLS_INNER, TRAMPOLINE_NO_TLS_INNER_ENTRY_ONLY },
	{ TRAMPOLINE_NO_TLS, TRAMPOLINE_NO_TLS_ENTRY_ONLY },
};

/* A function's trampoline, by its selection, the tracer and its effect on stacks. */
static enum trampoline_kind kind_of(const struct image_request *req,
				    const struct hook_plan_entry *e, uint8_t selection)
{
	enum memory_tracer tracer = req->tracer;
	static const enum trampoline_kind kinds[][2] = { /* [tracer][entry only] */
		[MEMORY_GRAPH] = { TRAMPOLINE_GRAPH, TRAMPOLINE_ENTRY_ONLY },
		[MEMORY_FUNCTION] = { TRAMPOLINE_CALL, TRAMPOLINE_CALL },
		[MEMORY_GRAPH_STATE] = { TRAMPOLINE_INNER, TRAMPOLINE_INNER_ENTRY_ONLY },
	};
	static const enum trampoline_kind may_begin[2] = { TRAMPOLINE_STATE,
							   TRAMPOLINE_STATE_ENTRY_ONLY };

	/* The look-ups stand in the same order in both enums. */
	if (selection >= SELECT_FIND_FDE)
		return TRAMPOLINE_FIND_FDE + (selection - SELECT_FIND_FDE);
	if (selection == SELECT_NONLOCAL ||
	    (e->leaves &&
	     (tracer != MEMORY_FUNCTION || e->leaves == NONLOCAL_LENDING || e->starts)))
		return TRAMPOLINE_NONLOCAL;
	if (req->hello->flags & AGENT_NO_TLS)
		return no_tls_kinds[selection == SELECT_GRAPH][e->entry_only];
	if (tracer == MEMORY_GRAPH_STATE && selection == SELECT_GRAPH)
		return may_begin[e->entry_only];
	return kinds[tracer][e->entry_only];
}

/* The id that goes into the patch, with PATCH_NONLOCAL if the function is not traced. A look-up
 * has no id. */
static uint32_t patch_function(const struct module *mod, uint32_t i)
{
	if (mod->selected[i] >= SELECT_FIND_FDE)
		return PATCH_LOOK_UP;
	return (mod->selected[i] == SELECT_NONLOCAL ? PATCH_NONLOCAL : 0) | (mod->first_id + i);
}

/* Adds the patch that leads from the function to its trampoline; two for a short jump. Direct calls
 * are only noted: they are redirected when everything else is in place. */
static int redirect_function(struct patch_job *j, struct patch_list *list, uint32_t i,
			     uint64_t from, uint64_t trampoline)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	uint32_t id = patch_function(j->mod, i);
	uint8_t jump[5];
	uint64_t island;
	struct patch *hop;

	if (hook_by_callers(e->kind)) {
		direct_calls_redirect(&j->direct, i, trampoline);
		return 0;
	}
	if (e->kind != HOOK_SHORT) {
		if (trampoline_jump(from, trampoline, jump) < 0)
			return -ERANGE;
		memcpy(patch_list_add(list, from, 5, hook_module_bytes(j->mod->hooks, i), id,
				      j->region)
			       ->bytes,
		       jump, 5);
		return 0;
	}
	island = j->mod->base + e->vaddr + (uint64_t)(int64_t)e->island;
	if (trampoline_jump(island, trampoline, jump) < 0)
		return -ERANGE;
	memcpy(patch_list_add(list, island, 5, hook_module_island(j->mod->hooks, i), id, j->region)
		       ->bytes,
	       jump, 5);
	hop = patch_list_add(list, from, 2, hook_module_bytes(j->mod->hooks, i), id, j->region);
	/* jmp rel8 */
	hop->bytes[0] = 0xeb;
	hop->bytes[1] = (uint8_t)(island - (from + 2));
	return 0;
}

/* The system calls themselves stay in place: only the instructions right before them move. */
static void redirect_calls(struct patch_job *j, struct patch_list *list)
{
	for (size_t i = 0; i < j->mod->calls.n; i++) {
		const struct intercept *c = &j->mod->calls.at[i];
		uint64_t from = j->mod->base + c->vaddr;
		uint8_t jump[5];

		if (j->used + INTERCEPT_BYTES > j->room ||
		    trampoline_jump(from, j->at + j->used, jump) < 0)
			continue;
		intercept_emit(c, from, j->req->hello->intercept, j->at + j->used,
			       j->code + j->used);
		j->used += INTERCEPT_BYTES;
		memcpy(patch_list_add(list, from, sizeof(jump), c->bytes, PATCH_CALL, j->region)
			       ->bytes,
		       jump, sizeof(jump));
	}
}

/* How far from the begin the moved instructions have the length that they had. */
static uint8_t plain_bytes(const struct relocate_recipe *recipe)
{
	uint8_t n = 0;

	for (unsigned i = 0; i < recipe->n && recipe->insn[i].op <= RELOCATE_RIP; i++)
		n = (uint8_t)(n + recipe->insn[i].len);
	return n;
}

static void note_place(struct patch_job *j, const struct relocate_recipe *recipe, uint64_t from,
		       size_t body)
{
	if (recipe->len)
		*vec_add(&j->places) = (struct trampoline_place){
			.at = (uint32_t)j->used, .body = (uint32_t)(j->used + body),
			.from = (int32_t)(from - j->at),
			.plain = plain_bytes(recipe), .len = recipe->len,
		};
}

/* Writes the list behind the last trampoline; the agent reads it (agent/mappings.c). room_for() has
 * counted its bytes. */
static void write_places(struct patch_job *j, struct patch_region *r)
{
	size_t bytes = j->places.n * sizeof(j->places.at[0]);

	j->used = aligned(j->used);
	if (bytes && bytes <= j->room - j->used) {
		memcpy(j->code + j->used, j->places.at, bytes);
		r->places = j->at + j->used;
		r->n_places = (uint32_t)j->places.n;
	}
	vec_free(&j->places);
}

/* Emits a function's trampoline, and adds its patch. Negative: no room, or out of reach. */
static int hook_one(struct patch_job *j, struct patch_list *list, uint32_t i)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	enum trampoline_kind kind = kind_of(j->req, e, j->mod->selected[i]);
	uint64_t vaddr = e->vaddr + e->patch_offset, from = j->mod->base + vaddr;
	struct relocate_recipe aimed;
	int n, r;

	/* The greatest trampoline fits: room_for() reserves so much behind the last one. */
	if (j->used + TRAMPOLINE_MAX_BYTES > j->room)
		return -ENOSPC;
	/* Only TRAMPOLINE_NONLOCAL has fields for these two. */
	j->env.id_flags = (uint32_t)e->leaves << NONLOCAL_SHIFT |
			  (e->entry_only ? STATE_ENTRY_ONLY : 0) |
			  (j->mod->selected[i] == SELECT_GRAPH ? STATE_GRAPH_FUNCTION : 0) |
			  (j->mod->selected[i] == SELECT_NONLOCAL ? NONLOCAL_SILENT : 0);
	j->env.function_size = (uint32_t)(j->mod->hooks->functions[i].size & NONLOCAL_SIZE_MASK) |
			       (uint32_t)e->starts << NONLOCAL_START_SHIFT;
	n = trampoline_emit(kind, &j->env, j->mod->first_id + i,
			    direct_calls_aim(&j->direct, &e->recipe, &aimed),
			    hook_module_bytes(j->mod->hooks, i), vaddr, from, j->at + j->used,
			    j->code + j->used);
	if (n < 0)
		return n;
	r = redirect_function(j, list, i, from, j->at + j->used);
	if (r < 0)
		return r;
	note_place(j, &e->recipe, from, trampoline_body(kind, &j->env));
	j->used = aligned(j->used + (uint64_t)n);
	return 0;
}

/* Functions that get a trampoline. */
static uint32_t count_selected(const struct module *mod)
{
	uint32_t n = 0;

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		n += mod->selected[i] != SELECT_NO && mod->hooks->entries[i].kind != HOOK_NONE;
	return n;
}

/* Upper limit of the bytes in the module's region. */
static uint64_t room_for(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = sizeof(struct trampoline_pool) + TRAMPOLINE_MAX_BYTES;

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &mod->hooks->entries[i];

		if (mod->selected[i] != SELECT_NO && e->kind != HOOK_NONE)
			bytes += aligned(trampoline_room(kind_of(req, e, mod->selected[i]),
							 req->settings->calls_too, &e->recipe)) +
				 sizeof(struct trampoline_place);
	}
	return pages(bytes + mod->calls.n * INTERCEPT_BYTES + probe_patches_room(mod) +
		     event_sites_room(mod));
}

/* The words at the region's beginning through which its code reaches the agent. */
static void write_pool(const struct patch_job *j)
{
	const struct protocol_hello *h = j->req->hello;
	const struct trampoline_pool pool = { h->slow_record,  h->slow_record2, h->slow_entry,
					      h->slow_site,    h->state_entry,	h->slow_nonlocal,
					      h->arena,	       h->find_fde,	h->find_object,
					      h->iterate_phdr, h->probe,	h->syscall,
					      h->delivery };

	memcpy(j->code, &pool, sizeof(pool));
}

/* Refuses a function after all: it is listed with its reason. */
static void refuse_function(struct module *mod, uint32_t i, enum hook_reason reason)
{
	struct hook_plan_entry *e = hook_module_entry(mod->hooks, i);

	e->kind = HOOK_NONE;
	e->reason = reason;
}

/* Hooks the module's functions of one kind. A function that fails is refused with its reason. */
static void hook_functions(struct patch_job *j, struct patch_list *list, bool by_callers)
{
	for (uint32_t i = 0; j->mod->hooks && i < j->mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &j->mod->hooks->entries[i];

		if (j->mod->selected[i] == SELECT_NO || e->kind == HOOK_NONE ||
		    hook_by_callers(e->kind) != by_callers)
			continue;
		/* These bytes lead a system call to the agent already. */
		if (!by_callers && intercepts_touch(&j->mod->calls, e->vaddr + e->patch_offset,
						    e->recipe.len > 5 ? e->recipe.len : 5))
			refuse_function(j->mod, i, REASON_RUNTIME);
		else if (hook_one(j, list, i) < 0)
			refuse_function(j->mod, i, REASON_NO_ROOM);
	}
}

/* Direct calls first: moved instructions of other functions may have to call their trampolines. */
static void hook_module_functions(struct patch_job *j, struct patch_list *list)
{
	write_pool(j);
	j->used = sizeof(struct trampoline_pool);
	j->used += event_sites_write(j->mod, j->at + j->used, j->req->hello->event, j->region,
				     j->code + j->used, list);
	redirect_calls(j, list);
	j->used = aligned(j->used);
	hook_functions(j, list, true);
	hook_functions(j, list, false);
}

static void probe_module(struct patch_job *j, const struct maps *maps, struct patch_list *list,
			 size_t first)
{
	struct probe_job probes = {
		.mod = j->mod, .direct = &j->direct, .maps = maps, .list = list, .first = first,
		.region = j->region, .code = j->code, .at = j->at,
		.room = j->room, .used = j->used,
		.agent = j->at + offsetof(struct trampoline_pool, probe),
		.syscall = j->at + offsetof(struct trampoline_pool, syscall),
		.delivery = j->at + offsetof(struct trampoline_pool, delivery),
		.preloaded = !(j->req->hello->flags & AGENT_BY_HAND),
	};

	probe_patches_make(&probes);
	j->used = probes.used;
}

/* A module without patches gets no region. */
static bool has_patches(const struct module *mod)
{
	return mod->sites.at.n || (mod->hooks && (count_selected(mod) || mod->probes.n));
}

/* Nothing of the module is hooked: there is no room near it. */
static void refuse_all(struct module *mod)
{
	for (size_t i = 0; i < mod->probes.n; i++)
		mod->probes.at[i].plan.kind = HOOK_NONE;
	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		if (mod->selected[i] != SELECT_NO && mod->hooks->entries[i].kind != HOOK_NONE)
			refuse_function(mod, i, REASON_NO_ROOM);
}

/* The code memory: every region's code in whole pages, the regions, the texts, then the patches.
 * With `tasks`, behind them, the events that a program tells when it begins. */
static int make_code_memory(struct image *out, uint64_t code_bytes, uint64_t regions,
			    uint64_t texts, uint64_t patches_max, const struct event_set *tasks,
			    struct err *err)
{
	uint64_t regions_at = code_bytes;
	uint64_t texts_at = regions_at + regions * sizeof(struct patch_region);
	uint64_t patches_at = pages(texts_at + texts * sizeof(struct patch_text));
	uint64_t patches_end = patches_at + patches_max * sizeof(struct patch);

	out->setup.regions_at = regions_at;
	out->setup.texts_at = texts_at;
	out->setup.patches_at = patches_at;
	out->setup.tasks_at = tasks ? patches_end : 0;
	/* 1 byte more: a memory of 0 bytes could not be mapped. */
	out->setup.code_size = pages(patches_end + (tasks ? task_points_bytes(tasks) : 0) + 1);
	out->code_fd = memory_file("brace-code", out->setup.code_size, true, &out->code, err);
	if (out->code_fd >= 0 && tasks)
		task_points_write(tasks, (void *)((char *)out->code + patches_end), false);
	return out->code_fd < 0 ? out->code_fd : 0;
}

/* The parts of each trampoline that are the same in the whole region. */
static void fill_env(struct patch_job *j, uint64_t fork_guard)
{
	const struct protocol_hello *h = j->req->hello;

	j->env = (struct trampoline_env){
		.tls = (int32_t)h->tls, .table = h->table, .fork_guard = fork_guard, .pool = j->at,
		.key = (int32_t)(h->key ? h->key : h->tls + TLS_KEY),
		.max_depth = j->req->settings->max_graph_depth,
		.calls_too = j->req->settings->calls_too,
		.causal = settings_causal(j->req->settings),
	};
}

/* Whether the mapping is a piece of the text of a module that has patches. */
static bool is_hooked(const struct modules *modules, const struct map *map)
{
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct module *mod = &modules->at.at[i];

		if (modules_is_of(mod, map))
			return map->start >= mod->start && map->start < mod->end &&
			       has_patches(mod);
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
		 at = maps_find_room(maps, mod->start, mod->end, room + PAGE);
	struct patch_job j = {
		.req = req, .mod = mod, .direct = { .mod = mod },
		.code = (uint8_t *)out->code + offset, .at = at + PAGE, .room = room,
		.region = (uint16_t)out->setup.n_regions,
	};
	size_t first = list->n;

	if (!at) {
		refuse_all(mod);
		return;
	}
	/* The region's layout: the fork guard's page, the pool, blocks of events, intercepted
	 * calls, trampolines of functions that are hooked by their callers, all other trampolines,
	 * probes, and the list of places. */
	fill_env(&j, at);
	hook_module_functions(&j, list);
	probe_module(&j, maps, list, first);
	direct_calls_write(&j.direct, j.region, list);
	direct_calls_free(&j.direct);
	out->regions[out->setup.n_regions] = (struct patch_region){
		.address = j.at, .bytes = room, .offset = offset, .fork_guard = at,
		.module = mod->start,
	};
	write_places(&j, &out->regions[out->setup.n_regions++]);
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
	uint64_t code_bytes = 0, patches_max = 0, offset = 0;
	uint32_t n_regions = 0;
	int r;

	for (size_t i = 0; i < modules->at.n; i++) {
		struct module *mod = &modules->at.at[i];

		if (has_patches(mod)) {
			code_bytes += room_for(mod, req);
			/* A short jump needs a second patch, for its island. */
			patches_max += 2ull * count_selected(mod) + direct_calls_max(mod) +
				       mod->calls.n + probe_patches_max(mod) +
				       event_sites_patches(mod);
			n_regions++;
		}
	}
	/* Every mapping may be listed twice: with patches, and as code. */
	r = make_code_memory(out, code_bytes, n_regions, 2 * maps->at.n, patches_max,
			     begins_image(req) ? req->events : NULL, err);
	if (r < 0)
		return r;
	out->regions = mem_zalloc((n_regions + 1) * sizeof(*out->regions));
	list_texts(out, modules, maps);
	list_codes(out, maps);
	for (size_t i = 0; i < modules->at.n; i++) {
		uint32_t before = out->setup.n_regions;

		if (!has_patches(&modules->at.at[i]))
			continue;
		make_region(&modules->at.at[i], req, maps, out, offset, &list);
		if (out->setup.n_regions > before)
			offset += out->regions[before].bytes;
	}
	give_copies(out, &list);
	return 0;
}
