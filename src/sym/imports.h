/* SPDX-License-Identifier: MIT */
/* GOT slots that the loader fills with addresses of other modules' functions. */
#pragma once
#include "sym/module.h"

struct sym_import { uint64_t slot; size_t name; /* index into names */ };
struct sym_imports { VEC(struct sym_import) at; };

/* Adds the GOT slots that are filled with the addresses of any of n imported symbols. vec_free()
 * frees the list. */
void sym_imports_find(const struct sym_module *m, const char *const *names, size_t n,
		      struct sym_imports *out);
