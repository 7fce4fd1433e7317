/* SPDX-License-Identifier: MIT */
/* Finds stack switches in assembly that no typed symbol and no unwind range covers (ruby's
 * coroutine_transfer, boost.context's jump_fcontext): code between the known functions, in which
 * the stack pointer is loaded. It begins at a symbol without a type, or at the target of a call.
 * functions.c calls it; the hook layer decodes the result, and believes nothing of this before. Any
 * thread: a module belongs to one while it is opened. It cannot fail. */
#include "arch/code.h"
#include "sym/functions.h"

#define GAP_MAX 4096u      /* bytes: a larger unknown part is not such a function */

/* Switches: address of the load of the stack pointer; start: 0 = not known. */
struct gap { uint64_t from, switches, start; const char *name; };
typedef VEC(struct gap) gap_list;

/* Adds the gap if the stack pointer is loaded in it. The first load is enough. */
static void search_function(const struct elf_view *v, const struct eh_frame *frame, uint64_t from,
			    uint64_t end, gap_list *out)
{
	const uint8_t *p = end - from <= GAP_MAX ? elf_at(v, from, end - from) : NULL;

	for (uint64_t i = 0; p && i + CODE_LOADS_STACK_BYTES <= end - from; i++)
		if (code_loads_stack(p + i) && !eh_frame_around(frame, from + i)) {
			*vec_add(out) = (struct gap){ .from = from, .switches = from + i };
			return;
		}
}

/* Sizes are those of the sources: after the first byte of a function without one, nothing is
 * known. */
static gap_list gaps_of(const struct sym_module *m, const struct elf_view *v,
			const struct eh_frame *frame)
{
	gap_list gaps = { 0 };
	size_t i = 0;

	for (size_t a = 0; a < v->code.n; a++) {
		uint64_t at = v->code.at[a].vaddr, end = at + v->code.at[a].size;

		while (i < m->functions.n && m->functions.at[i].vaddr < at)
			i++;
		for (; i < m->functions.n && m->functions.at[i].vaddr < end; i++) {
			const struct sym_function *f = &m->functions.at[i];

			if (f->vaddr > at)
				search_function(v, frame, at, f->vaddr, &gaps);
			at = f->vaddr + f->size >= at ? f->vaddr + (f->size ? f->size : 1) : at;
		}
		if (at < end)
			search_function(v, frame, at, end, &gaps);
	}
	return gaps;
}

/* Notes a possible begin; the last one before the load of the stack pointer counts. */
static void begins_switch(gap_list *gaps, uint64_t vaddr, const char *name)
{
	for (size_t i = 0; i < gaps->n; i++) {
		struct gap *g = &gaps->at[i];

		if (vaddr < g->from || vaddr > g->switches || vaddr < g->start)
			continue;
		g->name = name || vaddr > g->start ? name : g->name;
		g->start = vaddr;
	}
}

/* Symbols without a type: assembly that forgot .type. */
static void from_symbols(const struct elf_view *v, const struct elf_symtab *t, gap_list *gaps)
{
	for (size_t i = 1; i < t->n; i++) {
		Elf64_Sym s = elf_symbol(t, i);

		if (ELF64_ST_TYPE(s.st_info) == STT_NOTYPE &&
		    ELF64_ST_BIND(s.st_info) != STB_LOCAL && s.st_shndx != SHN_UNDEF &&
		    elf_is_code(v, s.st_value))
			begins_switch(gaps, s.st_value, elf_string(t, s.st_name));
	}
}

/* Bytes that only look like a call hardly ever lead into so few places. */
static void from_calls(const struct elf_area *a, gap_list *gaps)
{
	uint64_t low = gaps->at[0].from, high = gaps->at[gaps->n - 1].switches;
	const uint8_t *p = a->bytes, *end = a->bytes + a->size;

	for (; (p = code_find_call(p, end)) != NULL; p++) {
		uint64_t target = code_call_target(p, a->vaddr + (uint64_t)(p - a->bytes));

		if (target - low <= high - low)
			begins_switch(gaps, target, NULL);
	}
}

void stack_switches_find(const struct sym_module *m, const struct elf_view *v,
			 const struct eh_frame *frame, struct found_list *out)
{
	gap_list gaps = gaps_of(m, v, frame);

	out->list.n = 0;
	if (gaps.n) {
		from_symbols(v, &out->symtab, &gaps);
		from_symbols(v, &out->dynsym, &gaps);
		for (size_t i = 0; i < v->code.n; i++)
			from_calls(&v->code.at[i], &gaps);
	}
	for (size_t i = 0; i < gaps.n; i++) {
		struct found f = { .vaddr = gaps.at[i].start, .source = SYM_SWITCH };

		found_set_name(&f, gaps.at[i].name);
		if (f.vaddr)
			*vec_add(&out->list) = f;
	}
	vec_free(&gaps);
}
