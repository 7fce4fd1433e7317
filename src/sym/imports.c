/* SPDX-License-Identifier: MIT */
/* Finds GOT slots of imported symbols. Code compiled without a PLT calls through the slot itself
 * (`call *slot(%rip)`), and only the slot's relocation names the function. hook/plan.c asks for
 * compilers' entry hooks and for clone; no state. Any thread; nothing fails. */
#include "sym/imports.h"

#include <string.h>

#include "sym/elf_view.h"

/* Returns wanted[symbol] = 1 + index of the name, free() it. Usually there are none, and then no
 * relocation need be looked at. */
static uint32_t *find_symbols(const struct elf_symtab *t, const char *const *names, size_t n,
			      bool *any)
{
	uint32_t *wanted = mem_zalloc((t->n + 1) * sizeof(*wanted));

	for (size_t i = 1; i < t->n; i++) {
		Elf64_Sym symbol = elf_symbol(t, i);
		const char *name =
			symbol.st_shndx == SHN_UNDEF ? elf_string(t, symbol.st_name) : NULL;

		for (uint32_t k = 0; name && k < n; k++)
			if (strcmp(name, names[k]) == 0)
				wanted[i] = k + 1;
		*any |= wanted[i] != 0;
	}
	return wanted;
}

void sym_imports_find(const struct sym_module *m, const char *const *names, size_t n,
		      struct sym_imports *out)
{
	struct elf_view v = { 0 };

	if (elf_view_image(&v, m->bytes, m->n_bytes, m->path, NULL) == 0) {
		struct elf_symtab dynsym = elf_dynsym(&v);
		bool any = false;
		uint32_t *wanted = find_symbols(&dynsym, names, n, &any);

		for (size_t i = 0; any && i < v.relocs.n; i++) {
			uint64_t symbol = ELF64_R_SYM(v.relocs.at[i].r_info);

			if (symbol < dynsym.n && wanted[symbol])
				*vec_add(&out->at) = (struct sym_import){ v.relocs.at[i].r_offset,
									  wanted[symbol] - 1 };
		}
		free(wanted);
	}
	elf_view_free(&v);
}
