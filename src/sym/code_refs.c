/* SPDX-License-Identifier: MIT */
/* Finds the code addresses that data names; module.c and called.c call it when a file is opened.
 * Too many are safe (a function stays unhooked that could have been), too few are not: a jump to a
 * named address must not meet a patch. Any thread: a module belongs to one while it is opened.
 * Nothing fails: words that are no code are passed over. */
#include "sym/code_refs.h"

#include "arch/elf.h"

/* Adds the targets of relocations: these are exact. */
static void from_relocs(const struct elf_view *v, const struct elf_symtab *dynsym,
			struct code_set *out)
{
	for (size_t i = 0; i < v->relocs.n; i++) {
		const Elf64_Rela *r = &v->relocs.at[i];
		uint64_t symbol = ELF64_R_SYM(r->r_info);

		switch (elf_reloc(r)) {
		case ELF_RELOC_RELATIVE:
		case ELF_RELOC_RESOLVER:
			code_set_add(out, (uint64_t)r->r_addend);
			break;
		case ELF_RELOC_ADDRESS:
			if (symbol < dynsym->n)
				code_set_add(out, elf_symbol(dynsym, symbol).st_value +
					     (uint64_t)r->r_addend);
			break;
		default:
			break;
		}
	}
}

/* Most words are no addresses at all; one comparison with the span of all code rules them out. */
static void from_words(const struct elf_view *v, struct code_set *out)
{
	uint64_t low = out->ranges.n ? out->ranges.at[0].vaddr : 0;
	const struct code_range *last = out->ranges.n ? &out->ranges.at[out->ranges.n - 1] : NULL;
	uint64_t span = last ? last->vaddr + last->size - low : 0;

	for (size_t i = 0; i < v->data.n; i++) {
		const struct elf_area *a = &v->data.at[i];

		for (uint64_t at = -a->vaddr & 7; at + 8 <= a->size; at += 8) {
			uint64_t word;

			memcpy(&word, a->bytes + at, 8);
			if (word - low < span)
				code_set_add(out, word);
		}
	}
}

/* Addresses in the code that data refers to. Words are looked at in programs at a fixed address
 * alone: elsewhere each such word has a relocation. */
void code_refs_find(const struct elf_view *v, const struct elf_symtab *dynsym, struct code_set *out)
{
	from_relocs(v, dynsym, out);
	if (v->header.e_type == ET_EXEC)
		from_words(v, out);
}
