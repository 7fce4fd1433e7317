/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread. Several events at one place share a jump and a chain of sites. A
 * function's hook at the same place goes through the probe; anything else that changes the same
 * bytes comes first, and the probe is refused. */
#include "image/probe_patches.h"

#include <string.h>

#include "arch/code.h"
#include "arch/probe_code.h"
#include "image/handlers.h"
#include "image/led_calls.h"
#include "shared/calls.h"
#include "shared/probe.h"
#include "shared/unwind_rule.h"

#define PROBE_LAYOUTS 4 /* note_layouts(), and filters */

/* A multiple of 8, as program sizes are: the filter stands behind it. */
static uint64_t program_end(const struct probe_point *p)
{
	return offsetof(struct probe_site, program) + p->program_bytes;
}

/* Program and filter lie behind one another, as whole words. */
static uint64_t site_bytes(const struct probe_point *p)
{
	return program_end(p) + (p->filter ? p->filter->bytes : 0);
}

/* A module whose functions could not be read has no probes: its address is not known. */
static size_t n_probes(const struct module *mod)
{
	return mod->hooks ? mod->probes.n : 0;
}

/* At most: what is planned now may still be refused. */
static uint64_t probes_room(const struct module *mod, const struct image_request *req)
{
	uint64_t bytes = 0;

	(void)req;
	for (size_t i = 0; i < n_probes(mod); i++)
		bytes += patch_aligned(site_bytes(&mod->probes.at[i])) +
			 patch_aligned(PROBE_CODE_MAX_BYTES) +
			 PROBE_LAYOUTS * sizeof(struct trampoline_layout) + sizeof(int32_t);
	return bytes;
}

static uint32_t probes_max(const struct module *mod)
{
	return 3 * (uint32_t)n_probes(mod); /* jump, island, semaphore */
}

/* Where the bytes begin that the probe's patch changes: instructions before the place may have to
 * move too. */
static uint64_t patch_address(const struct patch_job *j, const struct probe_point *p)
{
	return j->mod->base + p->plan.vaddr - p->plan.before;
}

/* The reason reaches the user as a message at the session's end. */
static void refuse_probe(struct probe_point *p, enum hook_reason reason)
{
	p->plan.kind = HOOK_NONE;
	p->plan.reason = (uint8_t)reason;
}

/* --- others that want the bytes --------------------------------------------------------------- */

/* Whether the function gets a trampoline. */
static bool has_hook(const struct patch_job *j, uint32_t function)
{
	return j->mod->selected[function] && j->mod->hooks->entries[function].kind != HOOK_NONE;
}

/* Whether an earlier probe's bytes overlap with this one's. Probes are sorted by address. */
static bool meets_another(const struct patch_job *j, size_t i)
{
	const struct probe_point *all = j->mod->probes.at;

	for (size_t k = i; k-- > 0 && all[i].plan.vaddr - all[k].plan.vaddr < 4 * HOOK_WINDOW_MAX;)
		if (all[k].plan.kind != HOOK_NONE && all[k].plan.vaddr != all[i].plan.vaddr &&
		    hook_probes_overlap(&all[k].plan, &all[i].plan))
			return true;
	return false;
}

/* Whether the probe changes the bytes of a call that is intercepted in a process that was attached
 * to, from the first one on and no others: both can be had, the probe first. The intercept runs the
 * probe's lead again, which only loads constants. */
static bool joins_intercept(const struct patch_job *j, const struct probe_point *p)
{
	return p->plan.kind == HOOK_JUMP && intercepts_wanted(j->req) == INTERCEPTS_FILTERS &&
	       intercepts_begin(&j->mod->calls, p->plan.vaddr - p->plan.before, p->plan.len);
}

/* Why the probe may not change its bytes; REASON_NONE: it may. */
static enum hook_reason in_the_way(const struct patch_job *j, size_t i)
{
	const struct hook_probe *p = &j->mod->probes.at[i].plan;

	if (led_calls_take(j, &j->mod->probes.at[i]) ||
	    (!joins_intercept(j, &j->mod->probes.at[i]) &&
	     intercepts_touch(&j->mod->calls, p->vaddr - p->before, p->len)))
		return REASON_RUNTIME;
	if (p->function != PROBE_ALONE && !p->at_entry && has_hook(j, p->function))
		return REASON_TAKEN;
	return meets_another(j, i) ? REASON_TAKEN : REASON_NONE;
}

/* --- sites ---------------------------------------------------------------------------------- */

/* The scopes in which the probe records; 0: everywhere. A function's first instruction belongs to
 * its call, which the trampoline behind the probe opens. */
static uint32_t scopes_at(const struct patch_job *j, const struct probe_point *p)
{
	const uint32_t *scoped = j->mod->scoped;
	uint32_t function = p->plan.function;

	if (!p->scopes || !scoped || !p->plan.at_entry || function == PROBE_ALONE)
		return p->scopes;
	if (scoped[function] & p->scopes)
		return 0;
	return p->scopes | (has_hook(j, function) ? SCOPE_ENTERS : 0);
}

/* Writes the site behind the used bytes of the region. */
static struct probe_site *add_site(struct patch_job *j, const struct probe_point *p)
{
	struct probe_site *s = (void *)(j->code + j->used);
	uint64_t patch = patch_address(j, p);

	*s = (struct probe_site){
		.magic = PROBE_MAGIC,
		.ip = j->mod->base + p->plan.vaddr - (uint64_t)p->behind,
		.patch = patch,
		.base = j->mod->base,
		.semaphore = p->semaphore ? j->mod->base + p->semaphore : 0,
		.event = p->event,
		.island =
			p->plan.kind == HOOK_SHORT ? patch + (uint64_t)(int64_t)p->plan.island : 0,
		.program_bytes = p->program_bytes,
		.kind = p->kind,
		.stacked = p->stacked,
		.scopes = scopes_at(j, p),
		.kept = p->kept,
		.generation = p->generation,
		.patch_len = p->plan.patch_len,
	};
	memcpy(s->expected, p->plan.bytes, sizeof(s->expected));
	memcpy(s->island_expected, p->plan.island_bytes, sizeof(p->plan.island_bytes));
	memcpy(&s->program, p->program, p->program_bytes);
	if (p->filter) {
		s->filter = (uint32_t)program_end(p);
		s->filter_bytes = p->filter->bytes;
		memcpy((uint8_t *)s + s->filter, p->filter, p->filter->bytes);
	}
	if (p->filter || p->kind == PROBE_CALL)
		patch_note_filters(j, j->used, j->used + site_bytes(p));
	j->used += patch_aligned(site_bytes(p));
	return s;
}

/* --- patches -------------------------------------------------------------------------------- */

/* The module's patch at the address, or NULL. */
static struct patch *patch_at(const struct patch_job *j, uint64_t address)
{
	for (size_t i = j->first; i < j->list->n; i++)
		if (j->list->at[i].address == address)
			return &j->list->at[i];
	return NULL;
}

static struct patch *add_patch(struct patch_job *j, uint64_t address, uint8_t length,
			       const uint8_t *expected, uint32_t as)
{
	return patch_list_add(j->list, address, length, expected, as, j->region);
}

/* The patch to which the probe goes on: a function's, or an intercepted call's. NULL: none. */
static struct patch *patch_below(const struct patch_job *j, const struct probe_point *p)
{
	bool is_shared = (p->plan.at_entry && has_hook(j, p->plan.function)) ||
			 joins_intercept(j, p);

	return is_shared ? patch_at(j, patch_address(j, p)) : NULL;
}

/* The code to which the patch leads, or 0. */
static uint64_t redirected_to(const struct patch *p)
{
	uint64_t to;

	return p && code_is_jump(p->bytes, p->address, &to) ? to : 0;
}

/* With a patch below: its jump now leads to the probe, which goes on to where it led. */
static bool redirect_patch(struct patch_job *j, const struct probe_point *p, struct patch *below,
			   uint64_t code)
{
	uint64_t patch = patch_address(j, p), island = patch + (uint64_t)(int64_t)p->plan.island;
	uint32_t as = PATCH_PROBE | (uint32_t)j->list->n;
	uint64_t from = p->plan.kind == HOOK_SHORT ? island : patch;
	uint8_t jump[CODE_JUMP_BYTES];
	struct patch *hop;

	if (code_jump(from, code, jump) < 0)
		return false;
	/* A function's island is in the list. */
	if (!below && p->plan.kind == HOOK_SHORT)
		*vec_add(&j->islands) = (int32_t)(island - j->at);
	if (!below)
		below = add_patch(
			j, from, sizeof(jump),
			p->plan.kind == HOOK_SHORT ? p->plan.island_bytes : p->plan.bytes, as);
	memcpy(below->bytes, jump, sizeof(jump));
	if (p->plan.kind == HOOK_SHORT) {
		hop = add_patch(j, patch, 2, p->plan.bytes, as);
		code_short_jump(patch, island, hop->bytes);
	}
	return true;
}

/* Whether both bytes are private data of the module's own file. The file itself tells where a
 * marker's semaphore is, and may tell anything: the end of a page, somebody else's data, memory
 * that is shared with others. */
static bool is_own_data(const struct patch_job *j, uint64_t at)
{
	for (size_t i = 0; i < j->maps->at.n; i++) {
		const struct map *m = &j->maps->at.at[i];

		if (at >= m->start && at < m->end)
			return m->write && !m->shared && m->end - at >= sizeof(uint16_t) &&
			       m->device == j->mod->text.device && m->inode == j->mod->text.inode;
	}
	return false;
}

/* Adds one patch for all places that share the semaphore. */
static void raise_semaphore(struct patch_job *j, const struct probe_point *p)
{
	uint64_t at = j->mod->base + p->semaphore;

	if (p->semaphore && is_own_data(j, at) && !patch_at(j, at))
		add_patch(j, at, 2, NULL, PATCH_SEMAPHORE);
}

/* Address of the word of the region that holds the agent's entry for a place with n events. */
static uint64_t agent_for(const struct patch_job *j, const struct probe_point *p, size_t n)
{
	const struct call_info *a = p->program;

	if (n == 1 && p->kind == PROBE_SIGNAL)
		return j->at + offsetof(struct trampoline_pool, delivery);
	if (n == 1 && p->kind == PROBE_CALL && a->quick.bytes)
		return j->at + offsetof(struct trampoline_pool, syscall);
	return j->at + offsetof(struct trampoline_pool, probe);
}

static void add_layout(struct patch_job *j, uint64_t at, uint64_t body, uint64_t from,
		       const struct relocate_recipe *moved)
{
	const struct relocate_shape shape = relocate_shape_of(moved);

	*vec_add(&j->layouts) = (struct trampoline_layout){
		.at = (uint32_t)at, .body = (uint32_t)body, .from = (int32_t)(from - j->at),
		.plain = shape.plain, .len = moved->len, .pushed = shape.pushed,
		.grown = shape.grown,
	};
}

/* Notes for unwinders which instruction each part of the code stands for, and where the stack
 * pointer differs. The code begins at the used bytes of the region. */
static void note_layouts(struct patch_job *j, const struct probe_code *c,
			 const struct probe_code_steps *steps)
{
	static const struct relocate_recipe nothing;
	uint64_t at = j->used, down = at + steps->down, back = at + steps->back;

	add_layout(j, at, at, c->ip - c->lead->len, c->lead);
	add_layout(j, down, back, c->ip, &nothing);
	j->layouts.at[j->layouts.n - 1].pushed = LAYOUT_CALLS_AGENT;
	add_layout(j, back, back, c->ip, c->then ? &nothing : c->rest);
}

/* Puts in one place, with all n events at it. */
static bool put_in(struct patch_job *j, size_t i, size_t n)
{
	struct probe_point *p = &j->mod->probes.at[i];
	struct patch *below = patch_below(j, p);
	uint64_t site = j->at + j->used, code;
	struct relocate_recipe lead, rest;
	const struct probe_code c = {
		.lead = direct_calls_aim(&j->direct, &p->plan.lead, &lead),
		.rest = direct_calls_aim(&j->direct, &p->plan.rest, &rest),
		.original = p->plan.bytes, .vaddr = p->plan.vaddr,
		.ip = j->mod->base + p->plan.vaddr, .agent = agent_for(j, p, n), .site = site,
		.then = redirected_to(below),
	};
	struct probe_code_steps steps;
	struct probe_site *last = NULL;
	int bytes;

	for (size_t k = i; k < i + n; k++) {
		struct probe_site *s = add_site(j, &j->mod->probes.at[k]);

		if (last)
			last->next = (uint32_t)((uint8_t *)s - (uint8_t *)last);
		last = s;
	}
	code = j->at + j->used;
	bytes = probe_code_emit(&c, code, j->code + j->used, &steps);
	if (bytes < 0 || !redirect_patch(j, p, below, code))
		return false;
	note_layouts(j, &c, &steps);
	j->used = patch_aligned(j->used + (uint64_t)bytes);
	j->code_end = j->used;
	for (size_t k = i; k < i + n; k++)
		raise_semaphore(j, &j->mod->probes.at[k]);
	return true;
}

/* A place that another patch covers is refused, with all probes at its address. */
static void write_probes(struct patch_job *j)
{
	struct probe_point *all = j->mod->probes.at;

	for (size_t i = 0, n; i < n_probes(j->mod); i += n) {
		enum hook_reason reason;

		/* Points are sorted by address: those at one address share a probe. */
		for (n = 1; i + n < j->mod->probes.n && all[i + n].plan.vaddr == all[i].plan.vaddr;
		     n++)
			;
		reason = all[i].plan.kind == HOOK_NONE ? all[i].plan.reason : in_the_way(j, i);
		if (!reason && !put_in(j, i, n))
			reason = REASON_NO_ROOM;
		for (size_t k = i; reason && k < i + n; k++)
			refuse_probe(&all[k], reason);
	}
}

static void refuse_probes(struct module *mod)
{
	for (size_t i = 0; i < mod->probes.n; i++)
		mod->probes.at[i].plan.kind = HOOK_NONE;
}

/* System calls' and handlers' events belong to no module. */
static void describe_probes(const struct module *mod, const struct event_set *set,
			    struct image_update *update)
{
	for (size_t i = 0; i < mod->probes.n; i++)
		if (mod->probes.at[i].kind == PROBE_FETCH)
			*vec_add(&update->events) =
				events_at(set->catalogue, mod->probes.at[i].event);
}

/* Handlers of signals are probes, too, at addresses that are known of the process only. */
static void choose_probes(struct module *mod, const struct event_set *set,
			  const handler_list *handlers)
{
	probes_find(mod->fd, mod->path, set, &mod->probes);
	mod->hidden = probes_hidden_handlers(mod->fd);
	handlers_points(mod, set, handlers);
}

const struct patch_source probe_patches = {
	.choose = choose_probes, .room = probes_room, .patches = probes_max, .write = write_probes,
	.refuse = refuse_probes, .describe = describe_probes,
};
