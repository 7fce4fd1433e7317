/* Cold fragments: GCC moves the unlikely blocks of a function to a place of their own, and
 * they have FDEs like functions. With symbols their names tell; in a stripped file two
 * tests do. (a) Nobody can have called it: at its first instruction the frame is already
 * made. (b) Nobody calls it or takes its address, and some other function reaches it by a
 * conditional jump (or the unwinder does, as a landing pad).
 *
 * For (b) text is not decoded: a 4-byte field whose value leads to exactly the first byte
 * of one of a few thousand candidates is a real reference, bar one in a million, and the
 * bytes in front of it say of which kind. That is one pass at memory speed. */
#include "sym/functions.h"

struct search {
	const struct elf_view *v;
	const struct eh_frame *frame;
	const struct code_set *refs, *pads;
	struct code_set candidates, used, branched;
};

static bool candidate(const struct sym_function *f)
{
	return f->source == SYM_EH_FRAME && !f->name && !f->cold;
}

static const struct eh_fde *fde_of(const struct eh_frame *frame, const struct sym_function *f)
{
	const struct eh_fde *fde = eh_frame_around(frame, f->vaddr);

	return fde && fde->start == f->vaddr ? fde : NULL;
}

/* Test (a). Returns how many candidates are left for (b). */
static size_t mark_frames(struct sym_module *m, const struct eh_frame *frame)
{
	size_t left = 0;

	for (size_t i = 0; i < m->functions.n; i++) {
		struct sym_function *f = &m->functions.at[i];
		const struct eh_fde *fde;

		if (!candidate(f))
			continue;
		fde = fde_of(frame, f);
		f->cold = fde && (fde->cfa_moved || fde->saved);
		left += !f->cold;
	}
	return left;
}

/* `at` points behind the last byte of a 32-bit field that leads, relative to its end, to
 * a candidate. */
static void judge_relative(struct search *s, const uint8_t *field, uint64_t field_vaddr, uint64_t target)
{
	bool jcc = field[-2] == 0x0f && (field[-1] & 0xf0) == 0x80;
	bool call = field[-1] == 0xe8;
	bool operand = (field[-1] & 0xc7) == 0x05; /* modrm of disp32(%rip) */
	const struct eh_fde *from;

	if (jcc) {
		from = eh_frame_around(s->frame, field_vaddr);
		if (!from || from->start != target)
			code_set_add(&s->branched, target);
	} else if (call || operand) {
		code_set_add(&s->used, target);
	}
}

/* Positions are 32 bits wide in here: text is smaller than 2 GiB, and the sums of
 * displacements wrap as the processor's do. */
static void search_range(struct search *s, const struct elf_area *area, const struct code_range *r,
			 bool absolute)
{
	uint32_t size = (uint32_t)r->size, base = (uint32_t)(area->vaddr - r->vaddr), low = (uint32_t)r->vaddr;

	for (uint64_t i = 2; i + 4 <= area->size; i++) {
		uint32_t value, to;

		memcpy(&value, area->bytes + i, 4);
		to = base + (uint32_t)i + 4 + value;
		to = to < size ? to : size; /* bit `size` is never set: no branch to mispredict */
		if (__builtin_expect(code_range_has(r, to), 0))
			judge_relative(s, area->bytes + i, area->vaddr + i, r->vaddr + to);
		if (!absolute)
			continue;
		to = value - low;
		to = to < size ? to : size;
		if (__builtin_expect(code_range_has(r, to), 0))
			code_set_add(&s->used, r->vaddr + to);
	}
}

static void search_text(struct search *s)
{
	bool absolute = s->v->header.e_type == ET_EXEC;

	for (size_t i = 0; i < s->v->code.n; i++)
		for (size_t k = 0; k < s->candidates.ranges.n; k++)
			search_range(s, &s->v->code.at[i], &s->candidates.ranges.at[k], absolute);
}

/* GCC packs fragments; LLVM's functions, which its conditional tail calls make look
 * like fragments, are aligned behind padding. */
static bool behind_padding(const struct elf_view *v, uint64_t vaddr)
{
	const uint8_t *before = elf_at(v, vaddr - 1, 1);

	return vaddr % 16 == 0 && before && (*before == 0xcc || *before == 0x90 || *before == 0);
}

static void mark_reached(struct sym_module *m, const struct search *s)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		struct sym_function *f = &m->functions.at[i];

		if (candidate(f) && !code_set_has(&s->used, f->vaddr) && !code_set_has(s->refs, f->vaddr))
			f->cold = code_set_has(s->pads, f->vaddr) ||
				  (code_set_has(&s->branched, f->vaddr) && !behind_padding(s->v, f->vaddr));
	}
}

void functions_mark_cold(struct sym_module *m, const struct elf_view *v, const struct eh_frame *frame,
			 const struct code_set *refs, const struct code_set *pads)
{
	struct search s = { v, frame, refs, pads };

	if (!mark_frames(m, frame))
		return;
	s.candidates = code_set_new(v);
	s.used = code_set_new(v);
	s.branched = code_set_new(v);
	for (size_t i = 0; i < m->functions.n; i++)
		if (candidate(&m->functions.at[i]))
			code_set_add(&s.candidates, m->functions.at[i].vaddr);
	search_text(&s);
	mark_reached(m, &s);
	code_set_free(&s.candidates);
	code_set_free(&s.used);
	code_set_free(&s.branched);
}
