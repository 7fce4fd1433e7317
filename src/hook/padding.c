/* SPDX-License-Identifier: MIT */
/* Finds room in the padding between functions: for the end of a jump over a short function, and for
 * islands of short jumps. The planner and the prober call it, each with a struct padding of its
 * own. Room that was given away is not given again; no room is no error. */
#include "hook/padding.h"

#include "arch/code.h"
#include "arch/insn.h"

#define NEIGHBOURS 64 /* functions that are looked at on each side for an island */

void padding_init(const struct sweep *s, struct padding *out)
{
	size_t n = s->m->functions.n;
	uint64_t end = 0;

	*out = (struct padding){ s, mem_zalloc((n + 1) * 8), mem_zalloc((n + 1) * 8),
				 mem_zalloc((n + 1) * 8) };
	/* Functions may overlap (aliases of parts), so `end` is the largest end so far. */
	for (size_t i = 0; i < n; i++) {
		uint64_t own = s->m->functions.at[i].vaddr + s->m->functions.at[i].size;

		end = own > end ? own : end;
		out->end[i] = out->free_from[i] = end;
	}
}

void padding_free(struct padding *p)
{
	free(p->end);
	free(p->free_from);
	free(p->island);
}

/* Returns the address where the room after function i certainly ends: the next function, nops that
 * were made for patching it, or the end of the file's part of the segment. */
static uint64_t limit_behind(const struct padding *p, uint32_t i, const struct address_range *r)
{
	const struct sym_module *m = p->s->m;
	uint64_t limit = r->vaddr + r->size;
	size_t next = vec_bisect(&m->patchable, at, *at < p->end[i]);

	if (i + 1 < m->functions.n && m->functions.at[i + 1].vaddr < limit)
		limit = m->functions.at[i + 1].vaddr;
	return next < m->patchable.n && m->patchable.at[next] < limit ? m->patchable.at[next]
								      : limit;
}

/* Zeros are padding, too, but two of them decode as an instruction (add %al, (%rax)). */
static uint64_t zeros_until(const struct address_range *r, uint64_t at, uint64_t limit)
{
	while (at < limit && r->bytes[at - r->vaddr] == 0)
		at++;
	return at;
}

/* Returns the end of the padding that begins at `from`: whole nops and int3, or zeros, which count
 * only if they reach the limit. */
static uint64_t padding_until(const struct address_range *r, uint64_t from, uint64_t limit)
{
	while (from < limit) {
		const uint8_t *b = r->bytes + (from - r->vaddr);
		size_t n = code_is_trap(*b) ? 1 : insn_nop(b, limit - from);

		if (!n)
			break;
		from += n;
	}
	return zeros_until(r, from, limit) == limit ? limit : from;
}

bool padding_extend(struct padding *p, uint32_t i, uint64_t from, uint64_t to)
{
	const struct sym_function *f = &p->s->m->functions.at[i];
	const struct address_range *r = address_set_range(&p->s->targets, f->vaddr);
	uint64_t end = f->vaddr + f->size;

	if (to > end && p->end[i] != end)
		return false; /* the bytes are inside of another function */
	/* A prober plans in any order: an island may have been taken before. */
	if (p->island[i] && to > p->island[i])
		return false;
	if (!r || padding_until(r, from, limit_behind(p, i, r)) < to ||
	    address_set_any(&p->s->targets, from, to))
		return false;
	if (to > p->free_from[i])
		p->free_from[i] = to;
	return true;
}

/* Takes the first free place within reach after function i; 0: there is none. */
static uint64_t take_behind(struct padding *p, uint32_t i, const struct code_reach *reach)
{
	const struct address_range *r =
		address_set_range(&p->s->targets, p->s->m->functions.at[i].vaddr);
	uint64_t at = p->free_from[i] > reach->low ? p->free_from[i] : reach->low;

	/* Only after an instruction that control does not pass, else padding may be executed. */
	if (at > reach->high || !r || !address_set_has(&p->s->stops, p->end[i]) ||
	    padding_until(r, p->end[i], limit_behind(p, i, r)) < at + CODE_JUMP_BYTES ||
	    address_set_any(&p->s->targets, p->end[i], at + CODE_JUMP_BYTES))
		return 0;
	p->free_from[i] = at + CODE_JUMP_BYTES;
	/* Islands are taken upwards. */
	if (!p->island[i])
		p->island[i] = at;
	return at;
}

uint64_t padding_island(struct padding *p, uint32_t i, uint64_t from)
{
	const struct code_reach reach = code_short_reach(from);
	size_t n = p->s->m->functions.n;

	/* Nearest first, on both sides: nearer room is also more likely to be within reach. */
	for (uint32_t d = 0; d < NEIGHBOURS; d++) {
		uint64_t at = i + d < n ? take_behind(p, i + d, &reach) : 0;

		if (!at && d && d <= i)
			at = take_behind(p, i - d, &reach);
		if (at)
			return at;
	}
	return 0;
}
