/* SPDX-License-Identifier: MIT */
/* How much of a file's code its known functions are. */
#pragma once
#include "sym/elf_view.h"

/* Sets m->code_bytes and m->unknown_bytes. Call when the functions are known, in their order. */
void coverage_read(struct sym_module *m, const struct elf_view *v);
