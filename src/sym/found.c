/* SPDX-License-Identifier: MIT */
/* The simple sources of functions: symbol tables, unwind ranges, and the addresses that the loader
 * calls. module.c calls each; they add to a list that functions.c merges. Names point into the
 * file. Malformed entries are skipped. Any thread: a module belongs to one while it is opened. */
#include "arch/code.h"
#include "arch/elf.h"
#include "sym/functions.h"

#define MAX_NAME 4096
/* Sections looked at for each unwind range: programs have a hundred, and the PLT among the
 * first. */
#define SECTIONS_MOST 4096

void found_set_name(struct found *f, const char *name)
{
	size_t n = name ? strnlen(name, MAX_NAME) : 0;
	/* name@VERSION: the version is no part of the name. */
	const char *version = n ? memchr(name, '@', n) : NULL;

	f->name_n = (uint32_t)(version ? (size_t)(version - name) : n);
	f->name = f->name_n ? name : NULL;
}

void found_symbols(const struct elf_view *v, const struct elf_symtab *t, uint8_t source,
		   struct found_list *out)
{
	for (size_t i = 1; i < t->n; i++) {
		Elf64_Sym s = elf_symbol(t, i);
		unsigned type = ELF64_ST_TYPE(s.st_info);
		struct found f = {
			.vaddr = s.st_value, .size = s.st_size, .source = source,
			.local = ELF64_ST_BIND(s.st_info) == STB_LOCAL,
			.ifunc = type == STT_GNU_IFUNC,
		};

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF ||
		    !elf_is_code(v, s.st_value))
			continue;
		found_set_name(&f, elf_string(t, s.st_name));
		*vec_add(&out->list) = f;
	}
}

/* Hand-written CFI may begin before the padding that aligns its function. Returns the function's
 * begin. */
static uint64_t behind_padding(const struct elf_view *v, const struct eh_fde *fde)
{
	uint64_t aligned = (fde->start + 15) & ~UINT64_C(15);
	size_t n = aligned - fde->start, at = 0, step;
	const uint8_t *p = elf_at(v, fde->start, n);

	if (!n || !p || n >= fde->size)
		return fde->start;
	while (at < n && (step = code_nop(p + at, n - at)))
		at += step;
	return at == n ? aligned : fde->start;
}

/* True for PLT sections, which have one FDE. PLT0 shows when there are no section names. */
static bool is_plt(const struct elf_view *v, uint64_t vaddr)
{
	const uint8_t *p = elf_at(v, vaddr, 8);

	if (p && !code_may_begin_plt(p))
		return false;
	for (size_t i = 0; i < v->sections.n && i < SECTIONS_MOST; i++)
		if (vaddr - v->sections.at[i].vaddr < v->sections.at[i].size &&
		    plt_section(&v->sections.at[i]))
			return true;
	return p && code_is_plt_header(p);
}

/* Adds the unwind ranges. Nops that were made for patching, before a function, are not padding. */
void found_fdes(const struct elf_view *v, const struct eh_frame *f, bool patchable,
		struct found_list *out)
{
	for (size_t i = 0; i < f->fdes.n; i++) {
		const struct eh_fde *fde = &f->fdes.at[i];
		uint64_t start;

		/* Code that the file does not have is written at run time. */
		if (!elf_is_code(v, fde->start))
			continue;
		start = patchable ? fde->start : behind_padding(v, fde);
		if (!fde->signal && !is_plt(v, fde->start))
			*vec_add(&out->list) = (struct found){
				.vaddr = start, .size = fde->start + fde->size - start,
				.source = SYM_EH_FRAME };
	}
}

static void found_entry(const struct elf_view *v, uint64_t vaddr, struct found_list *out)
{
	if (vaddr && elf_is_code(v, vaddr))
		*vec_add(&out->list) = (struct found){ .vaddr = vaddr, .source = SYM_ENTRY };
}

/* Adds an array of pointers: those in the file, and those that relocations put there. */
static void found_array(const struct elf_view *v, uint64_t vaddr, uint64_t size,
			struct found_list *out)
{
	const uint8_t *at = elf_at(v, vaddr, size);
	struct cursor c = elf_cursor(v, at, size);

	while (cursor_left(&c) >= 8)
		found_entry(v, cursor_u64(&c), out);
	if (!at)
		return;
	for (size_t i = 0; i < v->relocs.n; i++)
		if (v->relocs.at[i].r_offset - vaddr < size &&
		    elf_reloc(&v->relocs.at[i]) == ELF_RELOC_RELATIVE)
			found_entry(v, (uint64_t)v->relocs.at[i].r_addend, out);
}

/* Adds the addresses that the loader calls; crt code has neither FDE nor dynamic symbol. */
void found_entries(const struct elf_view *v, struct found_list *out)
{
	const struct elf_dynamic *d = &v->dynamic;

	found_entry(v, v->header.e_entry, out);
	found_entry(v, d->init, out);
	found_entry(v, d->fini, out);
	found_array(v, d->preinit_array, d->preinit_arraysz, out);
	found_array(v, d->init_array, d->init_arraysz, out);
	found_array(v, d->fini_array, d->fini_arraysz, out);
}
