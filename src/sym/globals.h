/* SPDX-License-Identifier: MIT */
/* The variables of a file that have an address of their own: global and static ones. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

/* name: offset among the strings. letter: the kind of its section and whether other files see it,
 * as nm has them: d, b, r, of others D, B, R; V and v: a weak one, u: a unique one; ?: no section
 * has it. */
struct sym_global { uint64_t vaddr, size; uint32_t name; char letter; };
/* A variable's name as the source has it (numbers), or as the linker spells it (numbers.0), by
 * which sym_object() finds it. Neither has the version (stdout@GLIBC_2.2.5). */
enum sym_spelling { SYM_AS_WRITTEN, SYM_AS_LINKED };
struct sym_globals {
	VEC(struct sym_global) at; /* by vaddr, one for each */
	VEC(char) strings;         /* NUL-terminated, as the file has them */
};

/* Fills *out with the variables whose size the symbol table of the file open at fd tells; if it has
 * none, that of the separate debug file below `root` (debug_file.h), else the dynamic one. None
 * from a file that cannot be read. path is for sentences. Any thread; sym_globals_free() frees. */
void sym_globals_find(int fd, const char *path, const char *root, enum sym_spelling spelling,
		      struct sym_globals *out);
void sym_globals_free(struct sym_globals *g);
