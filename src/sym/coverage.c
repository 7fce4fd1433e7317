/* SPDX-License-Identifier: MIT */
/* Code between functions is unknown where it is more than padding, or than the few instructions
 * that compilers and linkers put there. module.c and called.c call it while a file is opened, on
 * their thread; no state. Nothing fails. */
#include "sym/coverage.h"

#define GAP_MIN 64     /* bytes: shorter gaps are padding */
#define UNSIZED_MAX 64 /* bytes of a function of which no source says where it ends */

/* A place where the loader enters has no size of its own, and reaches to the next function. */
static uint64_t end_of(const struct sym_function *f)
{
	bool unsized = f->source == SYM_ENTRY || f->source == SYM_SWITCH;

	return f->vaddr + (unsized && f->size > UNSIZED_MAX ? UNSIZED_MAX : f->size);
}

/* Bytes that count as unknown between two known places: 0 where they are few enough to be
 * padding. */
static uint64_t gap(uint64_t from, uint64_t to)
{
	return to > from && to - from >= GAP_MIN ? to - from : 0;
}

/* Functions are sorted, but one may reach over the next: `at` never goes back. */
static uint64_t unknown_in(const struct sym_module *m, const struct elf_area *area)
{
	uint64_t at = area->vaddr, end = area->vaddr + area->size, unknown = 0;
	size_t i = vec_bisect(&m->functions, f, f->vaddr < area->vaddr);

	for (; i < m->functions.n && m->functions.at[i].vaddr < end; i++) {
		const struct sym_function *f = &m->functions.at[i];

		unknown += gap(at, f->vaddr);
		if (end_of(f) > at)
			at = end_of(f);
	}
	return unknown + gap(at, end);
}

struct coverage coverage_of(const struct sym_module *m, const struct elf_view *v)
{
	struct coverage c = { 0 };

	for (size_t i = 0; i < v->code.n; i++) {
		c.code += v->code.at[i].size;
		c.unknown += unknown_in(m, &v->code.at[i]);
	}
	return c;
}

void coverage_read(struct sym_module *m, const struct elf_view *v)
{
	struct coverage c = coverage_of(m, v);

	m->code_bytes = c.code;
	m->unknown_bytes = c.unknown;
}
