/* SPDX-License-Identifier: MIT */
/* The part of a file's code that its known functions are. */
#pragma once
#include "sym/elf_view.h"

struct coverage { uint64_t code, unknown; /* bytes */ };

/* Counts the bytes of executable sections, and of them those that belong to no function and are no
 * padding; m's functions are sorted. */
struct coverage coverage_of(const struct sym_module *m, const struct elf_view *v);
/* Sets m->code_bytes and m->unknown_bytes. Call when the functions are known, in their order. */
void coverage_read(struct sym_module *m, const struct elf_view *v);
