/* SPDX-License-Identifier: MIT */
#include "image/patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/x86_64/trampoline.h"
#include "image/direct_calls.h"
#include "image/event_sites.h"
#include "image/probe_patches.h"
#include "collect/shared_memory.h"
#include "image/task_points.h"
#include "shared/tls.h"

#define PAGE UINT64_C(4096)
#define TRAMPOLINE_ALIGN UINT64_C(16)

/* One module's share of the work. */
struct job {
	const struct image_request *req;
	struct module *mod;
	struct trampoline_env env;
	struct direct_calls direct;
	uint8_t *code;            /* where the region's bytes go */
	uint64_t at, room, used;  /* runtime address of the region, its size, bytes used */
	uint16_t region;
};

static uint64_t pages(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

static uint64_t aligned(uint64_t n)
{
	return (n + TRAMPOLINE_ALIGN - 1) & ~(TRAMPOLINE_ALIGN - 1);
}

/* Kinds by [may begin a graph][entry only]. */
static const enum trampoline_kind far_kinds[2][2] = {
	{ TRAMPOLINE_FAR_INNER, TRAMPOLINE_FAR_INNER_ENTRY_ONLY }, { TRAMPOLINE_FAR, TRAMPOLINE_FAR_ENTRY_ONLY },
};

static enum trampoline_kind kind_of(const struct image_request *req, const struct hook_plan_entry *e, uint8_t selection)
{
	enum memory_tracer tracer = req->tracer;
	static const enum trampoline_kind kinds[][2] = { /* [tracer][entry only] */
		[MEMORY_GRAPH] = { TRAMPOLINE_GRAPH, TRAMPOLINE_ENTRY_ONLY },
		[MEMORY_FUNCTION] = { TRAMPOLINE_CALL, TRAMPOLINE_CALL },
		[MEMORY_GRAPH_STATE] = { TRAMPOLINE_INNER, TRAMPOLINE_INNER_ENTRY_ONLY },
	};
	static const enum trampoline_kind may_begin[2] = { TRAMPOLINE_STATE, TRAMPOLINE_STATE_ENTRY_ONLY };

	if (selection >= SELECT_FIND_FDE)
		return TRAMPOLINE_FIND_FDE + (selection - SELECT_FIND_FDE);
	if (selection == SELECT_LEAVE || (e->leaves && (tracer != MEMORY_FUNCTION || e->leaves == LEAVE_LENDING)))
		return TRAMPOLINE_LEAVE;
	if (req->hello->flags & AGENT_FAR)
		return far_kinds[selection == SELECT_GRAPH][e->entry_only];
	if (tracer == MEMORY_GRAPH_STATE && selection == SELECT_GRAPH)
		return may_begin[e->entry_only];
	return kinds[tracer][e->entry_only];
}

static uint32_t patch_function(const struct module *mod, uint32_t i)
{
	if (mod->selected[i] >= SELECT_FIND_FDE)
		return PATCH_LOOK_UP;
	return (mod->selected[i] == SELECT_LEAVE ? PATCH_LEAVE : 0) | (mod->first_id + i);
}

/* The patch that leads from the function to its trampoline; a short jump takes two. Callers are led when all else is in place. */
static int lead_there(struct job *j, struct patch_list *list, uint32_t i, uint64_t from, uint64_t trampoline)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	uint32_t id = patch_function(j->mod, i);
	uint8_t jump[5];
	uint64_t island;
	struct patch *hop;

	if (hook_by_callers(e->kind)) {
		direct_calls_lead(&j->direct, i, trampoline);
		return 0;
	}
	if (e->kind != HOOK_SHORT) {
		if (trampoline_jump(from, trampoline, jump) < 0)
			return -ERANGE;
		memcpy(patch_list_add(list, from, 5, hook_module_bytes(j->mod->hooks, i), id, j->region)->bytes, jump, 5);
		return 0;
	}
	island = j->mod->base + e->vaddr + (uint64_t)(int64_t)e->island;
	if (trampoline_jump(island, trampoline, jump) < 0)
		return -ERANGE;
	memcpy(patch_list_add(list, island, 5, hook_module_island(j->mod->hooks, i), id, j->region)->bytes, jump, 5);
	hop = patch_list_add(list, from, 2, hook_module_bytes(j->mod->hooks, i), id, j->region);
	hop->bytes[0] = 0xeb;
	hop->bytes[1] = (uint8_t)(island - (from + 2));
	return 0;
}

/* The system calls stay where they are: only what comes right before moves. */
static void lead_calls(struct job *j, struct patch_list *list)
{
	for (size_t i = 0; i < j->mod->calls.n; i++) {
		const struct led_call *c = &j->mod->calls.at[i];
		uint64_t from = j->mod->base + c->vaddr;
		uint8_t jump[5];

		if (j->used + LED_CALL_BYTES > j->room || trampoline_jump(from, j->at + j->used, jump) < 0)
			continue;
		led_call_emit(c, from, j->req->hello->led_call, j->at + j->used, j->code + j->used);
		j->used += LED_CALL_BYTES;
		memcpy(patch_list_add(list, from, sizeof(jump), c->bytes, PATCH_CALL, j->region)->bytes, jump, sizeof(jump));
	}
}

static int hook_one(struct job *j, struct patch_list *list, uint32_t i)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	enum trampoline_kind kind = kind_of(j->req, e, j->mod->selected[i]);
	uint64_t vaddr = e->vaddr + e->patch_offset, from = j->mod->base + vaddr;
	struct relocate_recipe aimed;
	int n, r;

	if (j->used + TRAMPOLINE_MAX_BYTES > j->room)
		return -ENOSPC;
	j->env.id_flags = (uint32_t)e->leaves << LEAVE_SHIFT | (e->entry_only ? STATE_ENTRY_ONLY : 0) |
			  (j->mod->selected[i] == SELECT_GRAPH ? STATE_GRAPH_FUNCTION : 0) |
			  (j->mod->selected[i] == SELECT_LEAVE ? LEAVE_SILENT : 0);
	j->env.function_size = j->mod->hooks->functions[i].size;
	n = trampoline_emit(kind, &j->env, j->mod->first_id + i, direct_calls_aim(&j->direct, &e->recipe, &aimed),
			    hook_module_bytes(j->mod->hooks, i), vaddr, from, j->at + j->used, j->code + j->used);
	if (n < 0)
		return n;
	r = lead_there(j, list, i, from, j->at + j->used);
	if (r == 0)
		j->used = aligned(j->used + (uint64_t)n);
	return r;
}

static uint32_t count_selected(const struct module *mod)
{
	uint32_t n = 0;

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		n += mod->selected[i] != SELECT_NO && mod->hooks->entries[i].kind != HOOK_NONE;
	return n;
}

static uint64_t room_for(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = sizeof(struct trampoline_pool) + TRAMPOLINE_MAX_BYTES;

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &mod->hooks->entries[i];

		if (mod->selected[i] != SELECT_NO && e->kind != HOOK_NONE)
			bytes += aligned(trampoline_room(kind_of(req, e, mod->selected[i]), req->settings->calls_too, &e->recipe));
	}
	return pages(bytes + mod->calls.n * LED_CALL_BYTES + probe_patches_room(mod) +
		     event_sites_room(mod));
}

static void write_pool(const struct job *j)
{
	const struct protocol_hello *h = j->req->hello;
	const struct trampoline_pool pool = { h->slow_record, h->slow_record2, h->slow_entry, h->slow_site,
					      h->state_entry, h->slow_leave, h->arena,
					      h->find_fde, h->find_object, h->iterate_phdr, h->probe, h->syscall, h->delivery };

	memcpy(j->code, &pool, sizeof(pool));
}

/* Turns down a function after all: it is listed with its reason. */
static void refuse(struct module *mod, uint32_t i, enum hook_reason reason)
{
	mod->hooks->entries[i].kind = HOOK_NONE;
	mod->hooks->entries[i].reason = reason;
}

static void hook_functions(struct job *j, struct patch_list *list, bool by_callers)
{
	for (uint32_t i = 0; j->mod->hooks && i < j->mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &j->mod->hooks->entries[i];

		if (j->mod->selected[i] == SELECT_NO || e->kind == HOOK_NONE || hook_by_callers(e->kind) != by_callers)
			continue;
		if (!by_callers &&
		    led_calls_touch(&j->mod->calls, e->vaddr + e->patch_offset, e->recipe.len > 5 ? e->recipe.len : 5))
			refuse(j->mod, i, REASON_RUNTIME);
		else if (hook_one(j, list, i) < 0)
			refuse(j->mod, i, REASON_NO_ROOM);
	}
}

/* First the functions that others' moved instructions may have to call by their trampolines. */
static void hook_module_functions(struct job *j, struct patch_list *list)
{
	write_pool(j);
	j->used = sizeof(struct trampoline_pool);
	j->used += event_sites_write(j->mod, j->at + j->used, j->req->hello->event, j->region, j->code + j->used, list);
	lead_calls(j, list);
	j->used = aligned(j->used);
	hook_functions(j, list, true);
	hook_functions(j, list, false);
}

static void probe_module(struct job *j, const struct maps *maps, struct patch_list *list, size_t first)
{
	struct probe_job probes = {
		.mod = j->mod, .direct = &j->direct, .maps = maps, .list = list, .first = first, .region = j->region, .code = j->code, .at = j->at,
		.room = j->room, .used = j->used, .agent = j->at + offsetof(struct trampoline_pool, probe),
		.syscall = j->at + offsetof(struct trampoline_pool, syscall),
		.delivery = j->at + offsetof(struct trampoline_pool, delivery),
		.preloaded = !(j->req->hello->flags & AGENT_BY_HAND),
	};

	probe_patches_make(&probes);
	j->used = probes.used;
}

static bool has_patches(const struct module *mod)
{
	return mod->sites.at.n || (mod->hooks && (count_selected(mod) || mod->probes.n));
}

static void refuse_all(struct module *mod)
{
	for (size_t i = 0; i < mod->probes.n; i++)
		mod->probes.at[i].plan.kind = HOOK_NONE;
	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		if (mod->selected[i] != SELECT_NO && mod->hooks->entries[i].kind != HOOK_NONE)
			refuse(mod, i, REASON_NO_ROOM);
}

/* The code memory: every region's code, page by page, then the regions, then the patches. Behind them what a program tells
 * when it begins, if `tasks` is not NULL. */
static int make_code_memory(struct image *out, uint64_t code_bytes, uint64_t regions, uint64_t texts,
			    uint64_t patches_max, const struct event_set *tasks, struct err *err)
{
	uint64_t regions_at = code_bytes;
	uint64_t texts_at = regions_at + regions * sizeof(struct patch_region);
	uint64_t patches_at = pages(texts_at + texts * sizeof(struct patch_text));
	uint64_t patches_end = patches_at + patches_max * sizeof(struct patch);

	out->welcome.regions_at = regions_at;
	out->welcome.texts_at = texts_at;
	out->welcome.patches_at = patches_at;
	out->welcome.tasks_at = tasks ? patches_end : 0;
	out->welcome.code_size = pages(patches_end + (tasks ? task_points_bytes(tasks) : 0) + 1);
	out->code_fd = memory_file("brace-code", out->welcome.code_size, true, &out->code, err);
	if (out->code_fd >= 0 && tasks)
		task_points_write(tasks, (void *)((char *)out->code + patches_end), false);
	return out->code_fd < 0 ? out->code_fd : 0;
}

static void fill_env(struct job *j, uint64_t gate)
{
	const struct protocol_hello *h = j->req->hello;

	j->env = (struct trampoline_env){
		.tls = (int32_t)h->tls, .table = h->table, .gate = gate, .pool = j->at,
		.key = (int32_t)(h->key ? h->key : h->tls + TLS_KEY),
		.max_depth = j->req->settings->max_graph_depth, .calls_too = j->req->settings->calls_too,
	};
}

/* Is it a piece of a module's text, and has that module patches? */
static bool is_hooked(const struct modules *modules, const struct map *map)
{
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct module *mod = &modules->at.at[i];

		if (modules_is_of(mod, map))
			return map->start >= mod->start && map->start < mod->end && has_patches(mod);
	}
	return false;
}

static void list_texts(struct image *out, const struct modules *modules, const struct maps *maps)
{
	struct patch_text *texts = (void *)((char *)out->code + out->welcome.texts_at);

	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (m->exec && is_hooked(modules, m))
			texts[out->welcome.n_texts++] = (struct patch_text){ m->start, m->end - m->start };
	}
}

/* Behind the texts. */
static void list_codes(struct image *out, const struct maps *maps)
{
	struct patch_text *codes;

	out->welcome.codes_at = out->welcome.texts_at + out->welcome.n_texts * sizeof(*codes);
	codes = (void *)((char *)out->code + out->welcome.codes_at);
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (maps_is_text(m))
			codes[out->welcome.n_codes++] = (struct patch_text){ m->start, m->end - m->start };
	}
}

static int by_address(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Is it a program that was just executed, and is that to be told? */
static bool begins(const struct image_request *req)
{
	return !req->again && req->hello->request == PROTOCOL_HELLO && req->events &&
	       task_points_at_begin(task_points_kinds(req->events));
}

/* One module's region: its code goes into the code memory, its patches behind those there are. */
static void make_region(struct module *mod, const struct image_request *req, struct maps *maps, struct image *out,
			uint64_t offset, struct patch_list *list)
{
	uint64_t room = room_for(mod, req), at = maps_find_room(maps, mod->start, mod->end, room + PAGE);
	struct job j = {
		.req = req, .mod = mod, .direct = { .mod = mod }, .code = (uint8_t *)out->code + offset, .at = at + PAGE, .room = room,
		.region = (uint16_t)out->welcome.n_regions,
	};
	size_t first = list->n;

	if (!at) {
		refuse_all(mod);
		return;
	}
	fill_env(&j, at);
	hook_module_functions(&j, list);
	probe_module(&j, maps, list, first);
	direct_calls_write(&j.direct, j.region, list);
	direct_calls_free(&j.direct);
	out->regions[out->welcome.n_regions++] = (struct patch_region){
		.address = j.at, .bytes = room, .offset = offset, .gate = at, .module = mod->start,
	};
}

/* Ours; the process gets copies, in the code memory. Who writes patches while a process stands still has them in order. */
static void give_copies(struct image *out, const struct patch_list *list)
{
	char *code = out->code;

	out->patches = list->at;
	out->welcome.n_patches = (uint32_t)list->n;
	if (list->n) {
		qsort(list->at, list->n, sizeof(list->at[0]), by_address);
		memcpy(code + out->welcome.patches_at, list->at, list->n * sizeof(list->at[0]));
	}
	memcpy(code + out->welcome.regions_at, out->regions, out->welcome.n_regions * sizeof(out->regions[0]));
}

int patches_make(const struct image_request *req, struct modules *modules, struct maps *maps, struct image *out,
		 struct err *err)
{
	struct patch_list list = { 0 };
	uint64_t code_bytes = 0, patches_max = 0, offset = 0;
	uint32_t n_regions = 0;
	int r;

	for (size_t i = 0; i < modules->at.n; i++) {
		struct module *mod = &modules->at.at[i];

		if (has_patches(mod)) {
			code_bytes += room_for(mod, req);
			patches_max += 2ull * count_selected(mod) + direct_calls_max(mod) + mod->calls.n + probe_patches_max(mod) +
				       event_sites_patches(mod);
			n_regions++;
		}
	}
	r = make_code_memory(out, code_bytes, n_regions, 2 * maps->at.n, patches_max, begins(req) ? req->events : NULL, err);
	if (r < 0)
		return r;
	out->regions = mem_zalloc((n_regions + 1) * sizeof(*out->regions));
	list_texts(out, modules, maps);
	list_codes(out, maps);
	for (size_t i = 0; i < modules->at.n; i++) {
		uint32_t before = out->welcome.n_regions;

		if (!has_patches(&modules->at.at[i]))
			continue;
		make_region(&modules->at.at[i], req, maps, out, offset, &list);
		if (out->welcome.n_regions > before)
			offset += out->regions[before].bytes;
	}
	give_copies(out, &list);
	return 0;
}
