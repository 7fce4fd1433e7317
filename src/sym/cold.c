/* SPDX-License-Identifier: MIT */
/* Finds cold fragments: GCC moves the unlikely blocks of a function to a place of their own, and
 * they have FDEs like functions. With symbols their names tell; in a stripped file two tests do.
 * (a) Nobody can have called it: at its first instruction the frame is already made. (b) Nobody
 * calls it or takes its address, and another function reaches it by a conditional jump (or the
 * unwinder does, as a landing pad).
 *
 * For (b) text is not decoded: a 4-byte field whose value leads to exactly the first byte of one of
 * a few thousand candidates is a real reference, apart from one in a million, and the bytes before
 * it say of which kind. That is one pass at memory speed. module.c calls it when a file is opened;
 * it cannot fail. Any thread: a module belongs to one while it is opened. */
#include "arch/code.h"
#include "arch/code_fields.h"
#include "sym/functions.h"

struct cold_search {
	const struct elf_view *v;
	const struct eh_frame *frame;
	const struct code_set *refs, *pads;
	struct code_set candidates, used, branched;
};

/* Only the unwind table knows a cold fragment of a stripped file. */
static bool is_candidate(const struct sym_function *f)
{
	return f->source == SYM_EH_FRAME && !f->name && !f->cold;
}

/* Test (a). Returns how many candidates are left for (b): none when there are symbols, which name
 * fragments. */
static size_t mark_frames(struct sym_module *m, const struct eh_frame *frame)
{
	bool symbols = false;
	size_t left = 0, at = 0;

	for (size_t i = 0; i < m->functions.n; i++) {
		struct sym_function *f = &m->functions.at[i];
		const struct eh_fde *fde;

		symbols |= f->source == SYM_SYMTAB || f->source == SYM_DEBUGFILE;
		if (!is_candidate(f))
			continue;
		fde = eh_frame_walk(frame, f->vaddr, &at);
		f->cold = fde && fde->start == f->vaddr && (fde->cfa_moved || fde->saved);
		left += !f->cold;
	}
	return symbols ? 0 : left;
}

/* Notes a reference to a candidate: `used` by a call or an address, `branched` by a conditional
 * jump. */
static void note_relative(struct cold_search *s, const uint8_t *field, uint64_t field_vaddr,
			  uint64_t target)
{
	const struct eh_fde *from;

	if (code_field_is_use(field)) {
		code_set_add(&s->used, target);
		return;
	}
	/* A jump of the candidate to its own begin is a loop, and proves nothing. */
	from = eh_frame_around(s->frame, field_vaddr);
	if (!from || from->start != target)
		code_set_add(&s->branched, target);
}

/* One pass over one area against one range of candidates. Positions are 32 bits wide here: text is
 * smaller than 2 GiB, and sums of displacements wrap as the processor's do. */
struct cold_pass {
	struct cold_search *s;
	const struct elf_area *area;
	const struct code_range *range;
	uint32_t base;         /* position of the area within the range */
	uint32_t low; /* subtracted from an absolute address to get a position in the range */
	uint32_t absolute;     /* 0: the file has no absolute addresses; all bits: it may have */
};

/* For the 16 fields that begin at `at` (position i of the area): bit k says that field k is worth
 * judge_field(). Few are. */
static uint32_t fields_to_judge(const struct cold_pass *p, const uint8_t *at, uint32_t i)
{
	uint32_t size = (uint32_t)p->range->size, relative = 0, absolute = 0;

	for (uint32_t shift = 0; shift < 4; shift++) {
		code_lanes value, to;

		memcpy(&value, at + shift, sizeof(value));
		to = value + (p->base + i + shift + 4) + (code_lanes){ 0, 4, 8, 12 };
		relative |= code_spread_mask((code_lanes)(to < size)) << shift;
		to = value - p->low;
		absolute |= code_spread_mask((code_lanes)(to < size)) << shift;
	}
	return (relative & code_fields_used(at)) | (absolute & p->absolute);
}

/* Decides about one field, at position i, byte by byte: the slow check behind the one of 16 fields
 * at once. */
static void judge_field(const struct cold_pass *p, uint32_t i)
{
	const uint8_t *field = p->area->bytes + i;
	uint32_t size = (uint32_t)p->range->size, value, to;

	memcpy(&value, field, 4);
	to = p->base + i + 4 + value;
	if (to < size && (code_field_is_use(field) || code_field_branches(field)) &&
	    code_range_has(p->range, to))
		note_relative(p->s, field, p->area->vaddr + i, p->range->vaddr + to);
	to = value - p->low;
	if (p->absolute && to < size && code_range_has(p->range, to))
		code_set_add(&p->s->used, p->range->vaddr + to);
}

/* Judges every field of the area, sixteen at a time. */
static void search_range(const struct cold_pass *p)
{
	/* From 2 on: the opcode's two bytes must be there. */
	uint64_t n = p->area->size, i = 2;

	for (; i + 20 <= n; i += 16)
		for (uint32_t todo = fields_to_judge(p, p->area->bytes + i, (uint32_t)i); todo;
		     todo &= todo - 1)
			judge_field(p, (uint32_t)i + (uint32_t)__builtin_ctz(todo));
	for (; i + 4 <= n; i++)
		judge_field(p, (uint32_t)i);
}

/* Searches all code for references to candidates. */
static void search_text(struct cold_search *s)
{
	/* Only files linked for fixed addresses have absolute addresses in immediates. */
	uint32_t absolute = s->v->header.e_type == ET_EXEC ? UINT32_MAX : 0;

	for (size_t i = 0; i < s->v->code.n; i++)
		for (size_t k = 0; k < s->candidates.ranges.n; k++) {
			const struct elf_area *area = &s->v->code.at[i];
			const struct code_range *r = &s->candidates.ranges.at[k];

			search_range(&(struct cold_pass){ s, area, r,
							  (uint32_t)(area->vaddr - r->vaddr),
							  (uint32_t)r->vaddr, absolute });
		}
}

/* GCC packs fragments; LLVM's functions, which its conditional tail calls make look like fragments,
 * are aligned after padding. */
static bool behind_padding(const struct elf_view *v, uint64_t vaddr)
{
	const uint8_t *before = elf_at(v, vaddr - 1, 1);

	return vaddr % 16 == 0 && before && code_is_filler(*before);
}

/* Test (b), with what the search has found. */
static void mark_reached(struct sym_module *m, const struct cold_search *s)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		struct sym_function *f = &m->functions.at[i];

		if (is_candidate(f) && !code_set_has(&s->used, f->vaddr) &&
		    !code_set_has(s->refs, f->vaddr))
			f->cold = code_set_has(s->pads, f->vaddr) ||
				  (code_set_has(&s->branched, f->vaddr) &&
				   !behind_padding(s->v, f->vaddr));
	}
}

/* Parts that the compiler moved away are no functions: hooked as such, their callers would seem
 * to call them. */
void functions_mark_cold(struct sym_module *m, const struct elf_view *v,
			 const struct eh_frame *frame, const struct code_set *refs,
			 const struct code_set *pads)
{
	struct cold_search s = { v, frame, refs, pads };

	if (!mark_frames(m, frame))
		return;
	s.candidates = code_set_new(v);
	s.used = code_set_new(v);
	s.branched = code_set_new(v);
	for (size_t i = 0; i < m->functions.n; i++)
		if (is_candidate(&m->functions.at[i]))
			code_set_add(&s.candidates, m->functions.at[i].vaddr);
	search_text(&s);
	mark_reached(m, &s);
	code_set_free(&s.candidates);
	code_set_free(&s.used);
	code_set_free(&s.branched);
}
