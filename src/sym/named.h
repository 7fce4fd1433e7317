/* SPDX-License-Identifier: MIT */
/* A module's function by the name that a user gives it: its symbol, or as brace shows it. */
#pragma once
#include "sym/module.h"

struct sym_named {
	uint64_t vaddr;
	const char *symbol; /* in the module, or the name that was asked for */
};

/* Finds the function or object. A symbol of that name comes before names that are demangled; of
 * those, only a name with parameters tells overloads apart. Returns 1; 0: there is none; -ENOTUNIQ:
 * several functions bear the name, and *err names some. */
int sym_named_find(const struct sym_module *m, const char *name, struct sym_named *out,
		   struct err *err);
