/* Code compiled without a PLT calls through the GOT slot itself (`call *slot(%rip)`): only the
 * slot's relocation tells whom. */
#include "sym/imports.h"

#include <string.h>

#include "sym/elf_view.h"

void sym_import_slots(const struct sym_module *m, const char *name, struct sym_import_slots *out)
{
	struct elf_view v = { 0 };
	struct elf_symtab dynsym;

	if (elf_view_image(&v, m->bytes, m->n_bytes, m->path, NULL) == 0) {
		dynsym = elf_dynsym(&v);
		for (size_t i = 0; i < v.relocs.n; i++) {
			const Elf64_Rela *r = &v.relocs.at[i];
			uint64_t symbol = ELF64_R_SYM(r->r_info);
			const char *s = symbol && symbol < dynsym.n ?
					elf_string(&dynsym, elf_symbol(&dynsym, symbol).st_name) : NULL;

			if (s && strcmp(s, name) == 0)
				*vec_add(&out->at) = r->r_offset;
		}
	}
	elf_view_free(&v);
}
