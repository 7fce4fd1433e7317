/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread; a struct direct_calls lives as long as its module's struct
 * patch_job (patch_source.h). Nothing fails: a call out of a jump's reach stays as it is, and goes
 * unseen. */
#include "image/direct_calls.h"

#include <stdlib.h>
#include <string.h>

uint32_t direct_calls_max(const struct module *mod)
{
	uint32_t n = 0;

	for (uint32_t i = 0; mod->hooks && i < mod->hooks->n; i++)
		if (mod->selected[i] != SELECT_NO && hook_by_callers(mod->hooks->entries[i].kind))
			n += mod->hooks->entries[i].n_calls;
	return n;
}

void direct_calls_redirect(struct direct_calls *d, uint32_t function, uint64_t trampoline)
{
	if (!d->redirected)
		d->redirected = mem_zalloc(d->mod->hooks->n * sizeof(*d->redirected));
	d->redirected[function] = trampoline;
}

/* The number of functions that begin at or before a file address. */
static uint32_t count_until(const struct hook_module *h, uint64_t vaddr)
{
	const struct { const struct hook_plan_entry *at; size_t n; } entries = { h->entries, h->n };

	return (uint32_t)vec_bisect(&entries, e, e->vaddr <= vaddr);
}

/* The trampoline of the function that begins at a file address, or 0. */
static uint64_t redirected_from(const struct direct_calls *d, uint64_t vaddr)
{
	uint32_t n = count_until(d->mod->hooks, vaddr);

	return n && d->mod->hooks->entries[n - 1].vaddr == vaddr ? d->redirected[n - 1] : 0;
}

const struct relocate_recipe *direct_calls_aim(const struct direct_calls *d,
					       const struct relocate_recipe *recipe,
					       struct relocate_recipe *copy)
{
	bool changed = false;

	/* The plan's recipe is shared by all processes that have the file: only a copy may be aimed
	 * at this one's trampolines. */
	if (!d->redirected)
		return recipe;
	*copy = *recipe;
	for (unsigned i = 0; i < copy->n; i++) {
		struct relocate_insn *in = &copy->insn[i];
		uint64_t redirected =
			relocate_leaves(in) ? redirected_from(d, (uint64_t)in->target) : 0;

		if (redirected)
			in->target = (int64_t)(redirected - d->mod->base);
		changed |= redirected != 0;
	}
	return changed ? copy : recipe;
}

/* [at, at + HOOK_CALL_BYTES) and [from, from + bytes). */
static bool ranges_overlap(uint64_t at, uint64_t from, uint64_t bytes)
{
	return at < from + bytes && from < at + HOOK_CALL_BYTES;
}

/* Whether the bytes at a file address belong to a hook or a probe: then the call moves with them,
 * or they are not the program's any more. */
static bool is_taken(const struct module *mod, uint64_t at)
{
	const struct hook_module *h = mod->hooks;

	/* A patch lies within two windows of its function's entry. */
	for (uint32_t n = count_until(h, at + HOOK_CALL_BYTES);
	     n-- > 0 && at - h->entries[n].vaddr < 2 * HOOK_WINDOW_MAX;) {
		const struct hook_plan_entry *e = &h->entries[n];

		if (mod->selected[n] != SELECT_NO && e->kind != HOOK_NONE &&
		    ranges_overlap(at, e->vaddr + e->patch_offset,
				   e->recipe.len > e->patch_len ? e->recipe.len : e->patch_len))
			return true;
	}
	for (size_t i = 0; i < mod->probes.n; i++) {
		const struct hook_probe *p = &mod->probes.at[i].plan;

		if (p->kind != HOOK_NONE && ranges_overlap(at, p->vaddr - p->before, p->len))
			return true;
	}
	return intercepts_touch(&mod->calls, at, HOOK_CALL_BYTES);
}

/* The four bytes of a call or jump that hold the distance, counted from their end. */
static void put_displacement(uint8_t *bytes, uint64_t at, uint64_t target)
{
	int32_t distance = (int32_t)(target - (at + HOOK_CALL_BYTES));

	memcpy(bytes, &distance, sizeof(distance));
}

/* Whether the distance fits 32 bits. */
static bool jump_reaches(uint64_t at, uint64_t target)
{
	int64_t distance = (int64_t)(target - (at + HOOK_CALL_BYTES));

	return distance == (int32_t)distance;
}

/* Adds the patch of one call, unless the call moves or the trampoline is out of reach. */
static void write_one(const struct direct_calls *d, const struct hook_call *c, uint16_t region,
		      struct patch_list *list)
{
	const struct hook_module *h = d->mod->hooks;
	uint64_t at = d->mod->base + c->at, redirected = d->redirected[c->function];
	uint32_t as = PATCH_DIRECT | (d->mod->first_id + c->function);
	uint8_t original[HOOK_CALL_BYTES];

	if (!redirected || is_taken(d->mod, c->at) || !jump_reaches(at, redirected))
		return;
	put_displacement(original, c->at, h->entries[c->function].vaddr);
	put_displacement(patch_list_add(list, at, sizeof(original), original, as, region)->bytes,
			 at, redirected);
}

void direct_calls_write(const struct direct_calls *d, uint16_t region, struct patch_list *list)
{
	for (uint32_t i = 0; d->redirected && i < d->mod->hooks->n_calls; i++)
		write_one(d, &d->mod->hooks->calls[i], region, list);
}

void direct_calls_free(struct direct_calls *d)
{
	free(d->redirected);
	d->redirected = NULL;
}
