/* SPDX-License-Identifier: MIT */
/* Code addresses that data names. Private to src/sym. */
#pragma once
#include "sym/eh_frame.h"

/* Adds the addresses that relocations name and, in a file linked for fixed addresses (whose
 * pointers need no relocation), every aligned word of data that could be one. */
void code_refs_find(const struct elf_view *v, const struct elf_symtab *dynsym,
		    struct code_set *out);
