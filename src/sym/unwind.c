/* SPDX-License-Identifier: MIT */
/* Unwinds one frame by a file's call frame information. instance/frames.c calls it on its thread,
 * and image/thread_stacks.c in a holder's; an unwind_file belongs to one thread at a time, because
 * it caches the rules of addresses. A step that cannot be made is false, and changes nothing.
 *
 * The table's reader is the planner's (eh_frame.c, cfi.c), not libdw's: the bytes are hostile, and
 * both need one answer. */
#include "sym/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sym/cfi.h"
#include "sym/dwarf_expression.h"
#include "sym/eh_frame.h"
#include "sym/elf_view.h"

#define CACHED 256        /* addresses whose rules are kept; a power of two */

struct cached {
	uint64_t vaddr;
	bool known, signal;
	struct cfi_state state;
	uint64_t ra;
};

struct unwind_file {
	struct elf_file file; /* empty if the bytes belong to the caller */
	struct elf_view view;
	struct eh_frame frame;
	struct cached cached[CACHED];
};

/* --- files ----------------------------------------------------------------------------------- */

int unwind_open_bytes(const uint8_t *bytes, size_t n, struct unwind_file **out, struct err *err)
{
	struct unwind_file *f = mem_zalloc(sizeof(*f));
	int e = elf_view_image(&f->view, bytes, n, "it", err);

	if (e == 0)
		eh_frame_read(&f->view, &f->frame);
	if (e == 0 && !f->frame.fdes.n)
		e = err_set(err, ENOEXEC, "it has no call frame information");
	if (e < 0)
		unwind_close(f);
	else
		*out = f;
	return e;
}

int unwind_open_fd(int fd, const char *path, struct unwind_file **out, struct err *err)
{
	struct elf_file file;
	int e = elf_file_read(fd, path, ELF_CONTENTS, &file, err);

	if (e == 0)
		e = unwind_open_bytes(file.bytes, file.n, out, err);
	if (e == 0)
		(*out)->file = file;
	else
		elf_file_free(&file);
	return e;
}

void unwind_close(struct unwind_file *f)
{
	if (!f)
		return;
	eh_frame_free(&f->frame);
	elf_view_free(&f->view);
	elf_file_free(&f->file);
	free(f);
}

/* Returns the rules at an address, NULL: there are none. Stacks repeat the same addresses, so a
 * small cache answers most. */
static const struct cached *rules_at(struct unwind_file *f, uint64_t vaddr)
{
	struct cached *c = &f->cached[vaddr * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (CACHED - 1)];
	const struct eh_fde *fde;

	if (c->known && c->vaddr == vaddr)
		return c;
	fde = eh_frame_around(&f->frame, vaddr);
	c->known = fde && eh_frame_state(&f->view, &f->frame, fde, vaddr, &c->state, &c->ra);
	c->vaddr = vaddr;
	c->signal = fde && fde->signal;
	return c->known ? c : NULL;
}

bool unwind_vaddr(const struct unwind_file *f, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < f->view.phdrs.n; i++) {
		const Elf64_Phdr *p = &f->view.phdrs.at[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && offset >= p->p_offset &&
		    offset - p->p_offset < p->p_filesz) {
			*vaddr = p->p_vaddr + (offset - p->p_offset);
			return true;
		}
	}
	return false;
}

bool unwind_has_code(const struct unwind_file *f, uint64_t vaddr)
{
	return elf_is_code_memory(&f->view, vaddr);
}

bool unwind_knows(struct unwind_file *f, uint64_t vaddr)
{
	return rules_at(f, vaddr) != NULL;
}

bool unwind_is_first(struct unwind_file *f, uint64_t vaddr)
{
	const struct cached *c = rules_at(f, vaddr);

	return c && c->state.ra_undefined;
}

/* --- a step ---------------------------------------------------------------------------------- */

struct step {
	const struct unwind_regs *regs;
	uint64_t cfa;
	unwind_read *read;
	void *context;
};

/* Evaluates a rule's expression; `first` is on its stack. */
static bool evaluate_rule(const struct step *s, const struct cfi_rule *r, const uint64_t *first,
			  uint64_t *out)
{
	return dwarf_expression(cursor_of(r->expression, r->bytes), s->regs, first, s->read,
				s->context, out);
}

/* Finds the caller's value of a register. False: there is no rule, or its memory cannot be read. */
static bool caller_has(const struct step *s, const struct cfi_rule *r, uint64_t *out)
{
	uint64_t at;

	switch (r->kind) {
	case CFI_AT_CFA: return s->read(s->context, s->cfa + (uint64_t)r->offset, out);
	case CFI_IS_CFA: *out = s->cfa + (uint64_t)r->offset; return true;
	case CFI_EXPRESSION:
		return evaluate_rule(s, r, &s->cfa, &at) && s->read(s->context, at, out);
	case CFI_IS_EXPRESSION: return evaluate_rule(s, r, &s->cfa, out);
	case CFI_REGISTER:
		if (r->register_number >= UNWIND_REGS)
			return false;
		*out = s->regs->at[r->register_number];
		return true;
	default: return false;
	}
}

/* Finds the canonical frame address: the stack pointer that the caller has after the return. */
static bool find_cfa(struct step *s, const struct cfi_state *c)
{
	if (c->cfa_expression)
		return evaluate_rule(s, &c->cfa, NULL, &s->cfa);
	if (c->cfa_register >= UNWIND_REGS)
		return false;
	s->cfa = s->regs->at[c->cfa_register] + (uint64_t)c->cfa_offset;
	return true;
}

bool unwind_step(struct unwind_file *f, uint64_t vaddr, struct unwind_regs *regs, bool *interrupted,
		 unwind_read *read, void *context)
{
	struct step s = { .regs = regs, .read = read, .context = context };
	const struct cached *c = rules_at(f, vaddr);
	struct unwind_regs next = *regs;

	if (!c || c->ra >= CFI_RULES || !find_cfa(&s, &c->state))
		return false;
	if (!caller_has(&s, &c->state.rules[c->ra], &next.at[UNWIND_PC]))
		return false;
	/* A register without a rule keeps its value; the stack pointer of the caller is the CFA. */
	next.at[UNWIND_SP] = s.cfa;
	for (unsigned i = 0; i < UNWIND_PC; i++)
		caller_has(&s, &c->state.rules[i], &next.at[i]);
	*regs = next;
	*interrupted = c->signal;
	return true;
}
