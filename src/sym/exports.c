/* SPDX-License-Identifier: MIT */
/* Looks for names among a file's dynamic symbols. image/bindings.c asks for each library of a
 * process; any thread, no state. A file that cannot be read, or is no ELF file, exports nothing. */
#include "sym/exports.h"

#include <stdlib.h>
#include <string.h>

#include "sym/elf_file.h"
#include "sym/elf_view.h"

/* The caller has sorted `names` by strcmp(). */
static int compare_name(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* The loader binds to these: defined, not local, and of a type that code can have. */
static bool is_export(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Symbol 0 of every table is the empty one. */
static void look_up_names(const struct elf_symtab *t, const char *const *names, size_t n,
			  bool *found)
{
	for (size_t i = 1; i < t->n; i++) {
		const Elf64_Sym symbol = elf_symbol(t, i);
		const char *name = is_export(&symbol) ? elf_string(t, symbol.st_name) : NULL;
		const char *const *at =
			name ? bsearch(name, names, n, sizeof(*names), compare_name) : NULL;

		if (at)
			found[at - names] = true;
	}
}

/* found[i] is set for each name that the file exports, and left as it is otherwise; so is all of
 * it for a file that cannot be read. */
void sym_exports_find(int fd, const char *path, const char *const *names, size_t n, bool *found)
{
	struct elf_file file;
	struct elf_view v = { 0 };
	struct elf_symtab t;
	struct err ignored;

	if (elf_file_read(fd, path, ELF_SYMBOLS, &file, &ignored) < 0)
		return;
	if (elf_view_image(&v, file.bytes, file.n, path, &ignored) == 0) {
		t = elf_dynsym(&v);
		look_up_names(&t, names, n, found);
	}
	elf_view_free(&v);
	elf_file_free(&file);
}
