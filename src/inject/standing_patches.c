/* SPDX-License-Identifier: MIT */
/* Called by change.c and detach.c, in a holder, with every thread stopped. What a process's memory
 * holds decides only what is written into that process, and brace writes there only the bytes that
 * it noted itself. Nothing fails: what cannot be read is not there. */
#include "inject/standing_patches.h"

#include <string.h>

#include "arch/code.h"
#include "arch/page.h"
#include "inject/stopped_stacks.h"


/* The needs of one look at a process's patches. */
struct standing_look {
	struct tracee *t;
	VEC(struct stopped_range) code; /* trampolines */
	const struct patch_list *sites, *told;
	struct patch_list *out;
	struct patch_list hops;   /* short jumps, of which the islands have to be looked for */
	uint64_t covered;         /* end of the last patch that stands */
	uint32_t changed;         /* sites with somebody else's bytes */
};

static bool is_code(const struct standing_look *l, uint64_t address)
{
	for (size_t i = 0; i < l->code.n; i++)
		if (address >= l->code.at[i].from && address < l->code.at[i].to)
			return true;
	return false;
}

/* Whether the bytes at the site lead into trampolines: a jump, a call's distance, an event's
 * word. */
static bool leads_to_code(const struct standing_look *l, const struct patch *p,
			  const uint8_t *there)
{
	int32_t distance;
	uint64_t to;

	switch (p->length) {
	case CODE_JUMP_BYTES:
		return code_is_jump(there, p->address, &to) && is_code(l, to);
	case sizeof(distance):
		memcpy(&distance, there, sizeof(distance));
		return is_code(l, p->address + sizeof(distance) + (uint64_t)(int64_t)distance);
	case sizeof(to):
		memcpy(&to, there, sizeof(to));
		return is_code(l, to);
	default:
		return false;
	}
}

static void note_patch(struct patch_list *to, const struct patch *p, const uint8_t *there)
{
	struct patch *copy = vec_add(to);

	*copy = *p;
	copy->status = PATCH_APPLIED;
	memcpy(copy->bytes, there, p->length);
}

/* Whether brace put a patch in at the site: few sites are asked for. */
static bool was_told(const struct standing_look *l, const struct patch *site)
{
	for (size_t i = 0; i < l->told->n; i++) {
		const struct patch *p = &l->told->at[i];

		if (p->address == site->address && p->length == site->length)
			return p->status == PATCH_APPLIED;
	}
	return false;
}

/* Bytes of a patch that stands are not another site's. */
static void look_at_site(struct standing_look *l, const struct patch *p, const uint8_t *there)
{
	uint64_t to;

	if (p->address < l->covered)
		return;
	if (memcmp(there, p->bytes, p->length) == 0 || leads_to_code(l, p, there)) {
		note_patch(l->out, p, there);
		l->covered = p->address + p->length;
	} else if (p->length == CODE_SHORT_JUMP_BYTES &&
		   code_is_short_jump(there, p->address, &to)) {
		note_patch(&l->hops, p, there);
	} else if (memcmp(there, p->expected, p->length) != 0) {
		l->changed += was_told(l, p);
	}
}

/* Looks at sites that begin in one page with one read; one by one where a part is not mapped. */
static void look_at_run(struct standing_look *l, const struct patch *first, size_t n)
{
	uint8_t bytes[2 * ARCH_PAGE];
	uint64_t from = first->address;
	struct err ignored;

	/* A patch that is not seen would be left behind. */
	if (tracee_read_twice(l->t, from, bytes,
			      first[n - 1].address + first[n - 1].length - from, &ignored) == 0) {
		for (size_t i = 0; i < n; i++)
			look_at_site(l, &first[i], bytes + (first[i].address - from));
		return;
	}
	for (size_t i = 0; i < n && n > 1; i++)
		look_at_run(l, &first[i], 1);
}

static void look_at_all(struct standing_look *l)
{
	const struct patch_list *sites = l->sites;

	for (size_t i = 0, n; i < sites->n; i += n) {
		uint64_t end = (sites->at[i].address & ~(ARCH_PAGE - 1)) + ARCH_PAGE;

		for (n = 1; i + n < sites->n && sites->at[i + n].address < end; n++)
			;
		look_at_run(l, &sites->at[i], n);
	}
}

/* The patch at the address, or NULL. The list is in order of addresses. */
static const struct patch *patch_at(const struct patch_list *list, uint64_t address)
{
	size_t i = vec_bisect(list, p, p->address < address);

	return i < list->n && list->at[i].address == address ? &list->at[i] : NULL;
}

/* A short jump is a patch if a patch stands where it leads to. */
static void add_hops(struct standing_look *l)
{
	struct patch_list stand = { 0 };
	uint64_t to;

	for (size_t i = 0; i < l->hops.n; i++) {
		const struct patch *p = &l->hops.at[i];

		if (code_is_short_jump(p->bytes, p->address, &to) && patch_at(l->out, to) &&
		    !patch_at(l->out, p->address))
			*vec_add(&stand) = *p;
	}
	for (size_t i = 0; i < stand.n; i++)
		*vec_add(l->out) = stand.at[i];
	vec_free(&stand);
}

uint32_t standing_patches_find(struct tracee *t, const struct maps *maps,
			       const struct patch_list *sites, const struct patch_list *told,
			       struct patch_list *out)
{
	struct standing_look l = { .t = t, .sites = sites, .told = told, .out = out };

	for (size_t i = 0; i < maps->at.n; i++)
		if (maps_is_trampolines(&maps->at.at[i]))
			*vec_add(&l.code) = (struct stopped_range){ maps->at.at[i].start,
								    maps->at.at[i].end };
	look_at_all(&l);
	add_hops(&l);
	for (size_t i = 0; i < told->n; i++)
		if (told->at[i].function == PATCH_SEMAPHORE || !sites->n)
			*vec_add(out) = told->at[i];
	vec_free(&l.code);
	vec_free(&l.hops);
	return l.changed;
}
