/* SPDX-License-Identifier: MIT */
/* Functions as a source of patches: a trampoline for each selected one, and what leads to it. Part
 * of one plan, on its thread. A function that finds no room is refused with its reason. */
#include "image/function_patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code.h"
#include "arch/unwind_rule.h"
#include "model/lock_functions.h"
#include "shared/tls.h"

/* By [may begin a graph][entry only]. */
static const enum trampoline_kind no_tls_kinds[2][2] = {
	{ TRAMPOLINE_NO_TLS_INNER, TRAMPOLINE_NO_TLS_INNER_ENTRY_ONLY },
	{ TRAMPOLINE_NO_TLS, TRAMPOLINE_NO_TLS_ENTRY_ONLY },
};

/* The function's act on a lock; NULL: none, or locks are not what is asked for. */
static const struct lock_function *lock_of(const struct module *mod, uint32_t i,
					   const struct image_request *req)
{
	char name[128];

	if (!req->settings->lock_points || mod->selected[i] == SELECT_NONLOCAL)
		return NULL;
	hook_function_name(mod->hooks, i, name, sizeof(name));
	return lock_function_find(name, strlen(name));
}

/* A function's trampoline, by its selection, the tracer and its effect on stacks. */
static enum trampoline_kind kind_of(const struct image_request *req, const struct module *mod,
				    uint32_t i)
{
	const struct hook_plan_entry *e = &mod->hooks->entries[i];
	uint8_t selection = mod->selected[i];
	enum memory_tracer tracer = req->tracer;
	/* by which the function itself is traced */
	enum memory_tracer own = req->settings->tracer->exits ? tracer : MEMORY_FUNCTION;
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
	if (lock_of(mod, i, req))
		return TRAMPOLINE_LOCK;
	if (selection == SELECT_NONLOCAL ||
	    (e->leaves &&
	     (tracer != MEMORY_FUNCTION || e->leaves == NONLOCAL_LENDING || e->starts)))
		return TRAMPOLINE_NONLOCAL;
	if (mod->scoped && mod->scoped[i])
		return TRAMPOLINE_SCOPE;
	if (req->hello->flags & AGENT_NO_TLS)
		return no_tls_kinds[selection == SELECT_GRAPH][e->entry_only];
	if (own == MEMORY_GRAPH_STATE && selection == SELECT_GRAPH)
		return may_begin[e->entry_only];
	return kinds[own][e->entry_only];
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
 * are only noted: they are redirected when everything else is in place. The island's jump stands
 * before the short one, which leads to it: whoever dies in between leaves a program that runs. */
static int redirect_function(struct patch_job *j, uint32_t i, uint64_t from,
			     uint64_t trampoline)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	uint32_t id = patch_function(j->mod, i);
	uint8_t jump[CODE_JUMP_BYTES];
	uint64_t island;
	struct patch *hop;

	if (hook_by_callers(e->kind)) {
		direct_calls_redirect(&j->direct, i, trampoline);
		return 0;
	}
	if (e->kind != HOOK_SHORT) {
		if (code_jump(from, trampoline, jump) < 0)
			return -ERANGE;
		memcpy(patch_list_add(j->list, from, sizeof(jump),
				      hook_module_bytes(j->mod->hooks, i), id, j->region)
			       ->bytes,
		       jump, sizeof(jump));
		return 0;
	}
	island = j->mod->base + e->vaddr + (uint64_t)(int64_t)e->island;
	if (code_jump(island, trampoline, jump) < 0)
		return -ERANGE;
	memcpy(patch_list_add(j->list, island, sizeof(jump), hook_module_island(j->mod->hooks, i),
			      id, j->region)
		       ->bytes,
	       jump, sizeof(jump));
	*vec_add(&j->islands) = (int32_t)(island - j->at);
	hop = patch_list_add(j->list, from, CODE_SHORT_JUMP_BYTES,
			     hook_module_bytes(j->mod->hooks, i), id, j->region);
	return code_short_jump(from, island, hop->bytes);
}

/* For unwinders and for whoever stops a thread there: which instruction a place in the trampoline
 * stands for. */
static void note_layout(struct patch_job *j, const struct relocate_recipe *recipe, uint64_t from,
			size_t body)
{
	const struct relocate_shape shape = relocate_shape_of(recipe);

	*vec_add(&j->layouts) = (struct trampoline_layout){
		.at = (uint32_t)j->used, .body = (uint32_t)(j->used + body),
		.from = (int32_t)(from - j->at), .plain = shape.plain, .len = recipe->len,
		.pushed = shape.pushed, .grown = shape.grown,
	};
}

static int by_offset(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The list of islands, and the unwind table. Without room for them, or out of reach, r->rule stays
 * 0: functions are hooked all the same, and unwinders do not see through their trampolines. */
static void write_rule(struct patch_job *j, struct patch_region *r)
{
	const struct module *mod = j->mod;
	const uint64_t islands = j->islands.n * sizeof(j->islands.at[0]);
	const uint64_t at = patch_aligned(j->used + islands), end = j->at + j->code_end;
	const struct unwind_info about = {
		.base = j->at, .bytes = j->code_end, .layouts = r->layouts,
		.layouts_end = r->layouts + r->n_layouts * sizeof(j->layouts.at[0]),
		.islands = j->at + j->used, .n_islands = j->islands.n,
	};

	if (at + unwind_rule_bytes() > j->room ||
	    unwind_rule_emit(&about, j->at < mod->start ? j->at : mod->start,
			     end > mod->end ? end : mod->end, j->at + at, j->code + at) < 0)
		return;
	if (islands) {
		qsort(j->islands.at, j->islands.n, sizeof(j->islands.at[0]), by_offset);
		memcpy(j->code + j->used, j->islands.at, islands);
	}
	r->rule = j->at + at;
}

/* Writes the lists behind the region's code; the agent reads them (agent/mappings.c).
 * functions_room() has counted their bytes. */
static void write_layouts(struct patch_job *j, struct patch_region *r)
{
	size_t bytes = j->layouts.n * sizeof(j->layouts.at[0]);

	j->used = patch_aligned(j->used);
	if (bytes && bytes <= j->room - j->used) {
		memcpy(j->code + j->used, j->layouts.at, bytes);
		r->layouts = j->at + j->used;
		r->n_layouts = (uint32_t)j->layouts.n;
		j->used += bytes;
		write_rule(j, r);
	}
	vec_free(&j->layouts);
	vec_free(&j->islands);
}

/* Puts the function's struct arguments_site before its trampoline, if it needs one. Threads without
 * a block at a fixed place leave its condition to the agent. */
static int write_arguments(struct patch_job *j, uint32_t i)
{
	const struct argument_plan *plan = arguments_of(j->mod, i);
	uint64_t bytes = patch_aligned(arguments_site_bytes(plan)), at = j->at + j->used;

	j->env.arguments = 0;
	j->env.conditional = bytes && plan->condition.filter;
	j->env.condition.filter = NULL;
	if (!bytes)
		return 0;
	if (j->used + bytes + TRAMPOLINE_MAX_BYTES > j->room)
		return -ENOSPC;
	arguments_site_write(plan, j->mod->first_id + i, j->mod->selected[i] == SELECT_GRAPH,
			     j->code + j->used);
	if (plan->condition.filter)
		patch_note_filters(j, j->used, j->used + bytes);
	j->env.arguments = at;
	j->env.recorded = plan->program;
	if (j->env.conditional && !(j->req->hello->flags & AGENT_NO_TLS))
		j->env.condition =
			condition_code_of(&plan->condition, at + arguments_filter_at(plan));
	j->used += bytes;
	return 0;
}

/* Emits a function's trampoline, and adds its patch. Negative: no room, or out of reach. After a
 * failure j->used may have passed the arguments' site: that room is lost, and nothing refers to
 * it. */
static int hook_one(struct patch_job *j, uint32_t i)
{
	const struct hook_plan_entry *e = &j->mod->hooks->entries[i];
	enum trampoline_kind kind = kind_of(j->req, j->mod, i);
	uint64_t vaddr = e->vaddr + e->patch_offset, from = j->mod->base + vaddr;
	struct relocate_recipe aimed;
	int n, r;

	/* The greatest trampoline fits: patches.c reserves so much behind the last one. */
	if (j->used + TRAMPOLINE_MAX_BYTES > j->room)
		return -ENOSPC;
	/* Only TRAMPOLINE_NONLOCAL has fields for these two. */
	j->env.id_flags = (uint32_t)e->leaves << NONLOCAL_SHIFT |
			  (e->entry_only ? STATE_ENTRY_ONLY : 0) |
			  (j->mod->selected[i] == SELECT_GRAPH ? STATE_GRAPH_FUNCTION : 0) |
			  (j->mod->selected[i] == SELECT_NONLOCAL ? NONLOCAL_SILENT : 0);
	j->env.scope = j->mod->scoped ? j->mod->scoped[i] : 0;
	j->env.function_size = (uint32_t)(j->mod->hooks->functions[i].size & NONLOCAL_SIZE_MASK) |
			       (uint32_t)e->starts << NONLOCAL_START_SHIFT;
	j->env.returned = arguments_returned_kind(arguments_of(j->mod, i), j->req->settings);
	if (kind == TRAMPOLINE_LOCK) {
		const struct lock_function *f = lock_of(j->mod, i, j->req);

		j->env.lock_point = lock_point(f->kind, f->act);
	}
	r = write_arguments(j, i);
	if (r < 0)
		return r;
	n = trampoline_emit(kind, &j->env, j->mod->first_id + i,
			    direct_calls_aim(&j->direct, &e->recipe, &aimed),
			    hook_module_bytes(j->mod->hooks, i), vaddr, from, j->at + j->used,
			    j->code + j->used);
	if (n < 0)
		return n;
	r = redirect_function(j, i, from, j->at + j->used);
	if (r < 0)
		return r;
	note_layout(j, &e->recipe, from, trampoline_body(kind, &j->env));
	j->used = patch_aligned(j->used + (uint64_t)n);
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

/* Refuses a function after all: it is listed with its reason. */
static void refuse_function(struct module *mod, uint32_t i, enum hook_reason reason)
{
	struct hook_plan_entry *e = hook_module_entry(mod->hooks, i);

	e->kind = HOOK_NONE;
	e->reason = reason;
}

/* Hooks the module's functions of one kind. A function that fails is refused with its reason. */
static void hook_functions(struct patch_job *j, bool by_callers)
{
	for (uint32_t i = 0; j->mod->hooks && i < j->mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &j->mod->hooks->entries[i];

		if (j->mod->selected[i] == SELECT_NO || e->kind == HOOK_NONE ||
		    hook_by_callers(e->kind) != by_callers)
			continue;
		/* The function's bytes may lead a system call to the agent already. */
		if (!by_callers && intercepts_touch(&j->mod->calls, e->vaddr + e->patch_offset,
						    e->recipe.len > CODE_JUMP_BYTES
							    ? e->recipe.len
							    : CODE_JUMP_BYTES))
			refuse_function(j->mod, i, REASON_RUNTIME);
		else if (hook_one(j, i) < 0)
			refuse_function(j->mod, i, REASON_NO_ROOM);
	}
}

/* Bytes that the code for the function's arguments takes besides. */
static uint64_t arguments_room(const struct module *mod, uint32_t i)
{
	const struct argument_plan *plan = arguments_of(mod, i);
	uint64_t bytes = arguments_site_bytes(plan);
	uint64_t code = TRAMPOLINE_ARGUMENTS_BYTES;

	if (bytes && plan->condition.filter)
		code += CONDITION_CODE_MAX + sizeof(struct trampoline_layout);
	return bytes ? patch_aligned(bytes) + patch_aligned(code) : 0;
}

/* Each function's trampoline, and its entries in the lists; the table of all. It has to be no less
 * than what is written (hook_one(), write_layouts()), or functions at the end are refused for want
 * of room. */
static uint64_t functions_room(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = 2 * PATCH_ALIGN + unwind_rule_bytes();

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++) {
		const struct hook_plan_entry *e = &mod->hooks->entries[i];

		if (mod->selected[i] != SELECT_NO && e->kind != HOOK_NONE)
			bytes += patch_aligned(trampoline_room(kind_of(req, mod, i),
							       settings_record_both(req->settings),
							       &e->recipe)) +
				 arguments_room(mod, i) + sizeof(struct trampoline_layout) +
				 (e->kind == HOOK_SHORT ? sizeof(int32_t) : 0);
	}
	return bytes;
}

/* An upper bound, since memory for the patches comes before they are made. A short jump needs a
 * second patch, for its island. */
static uint32_t functions_max(const struct module *mod)
{
	uint32_t n = count_selected(mod);

	return n ? 2 * n + direct_calls_max(mod) : 0;
}

/* The parts of each trampoline that are the same in the whole region. */
static void fill_env(struct patch_job *j)
{
	const struct protocol_hello *h = j->req->hello;

	j->env = (struct trampoline_env){
		.tls = (int32_t)h->tls, .table = h->table, .fork_guard = j->fork_guard,
		.pool = j->at,
		.key = (int32_t)(h->key ? h->key : h->tls + TLS_KEY),
		.max_depth = j->req->settings->max_graph_depth,
		.record_both = settings_record_both(j->req->settings),
		.causal = settings_causal(j->req->settings),
	};
}

/* Direct calls first: moved instructions of other functions may have to call their trampolines. */
static void write_functions(struct patch_job *j)
{
	fill_env(j);
	hook_functions(j, true);
	hook_functions(j, false);
	j->code_end = j->used;
}

/* The region has no place in reach: its functions are listed with that reason, not left out. */
static void refuse_functions(struct module *mod)
{
	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		if (mod->selected[i] != SELECT_NO && mod->hooks->entries[i].kind != HOOK_NONE)
			refuse_function(mod, i, REASON_NO_ROOM);
}

const struct patch_source function_patches = {
	.room = functions_room, .patches = functions_max, .write = write_functions,
	.refuse = refuse_functions,
};

void function_patches_finish(struct patch_job *j, struct patch_region *r)
{
	direct_calls_write(&j->direct, j->region, j->list);
	direct_calls_free(&j->direct);
	write_layouts(j, r);
}
