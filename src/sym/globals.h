/* SPDX-License-Identifier: MIT */
/* The variables of a file that have an address of their own: global and static ones. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

/* name: offset among the strings. */
struct sym_global { uint64_t vaddr, size; uint32_t name; };
struct sym_globals {
	VEC(struct sym_global) at; /* by vaddr, one for each */
	VEC(char) strings;         /* NUL-terminated, as the file has them */
};

/* Fills *out with the variables whose size the symbol table of the file open at fd tells; if it has
 * none, that of the separate debug file below `root` (debug_file.h), else the dynamic one. None
 * from a file that cannot be read. path is for sentences. Any thread; sym_globals_free() frees. */
void sym_globals_find(int fd, const char *path, const char *root, struct sym_globals *out);
void sym_globals_free(struct sym_globals *g);
