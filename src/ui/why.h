/* SPDX-License-Identifier: MIT */
/* Why a function isn't there: a name that the user asked for, and what the binary and its
 * debug information know of it, in one sentence. Prints nothing. */
#pragma once
#include <stdbool.h>

#include "sym/module.h"

struct why {
	bool there;     /* the module has a function of this name */
	char *sentence; /* what the user should know; NULL: nothing, all of it can be traced */
};

/* `package`: what to call the package of the file in advice, or NULL. 0 or -errno and *err. */
int why_find(const struct sym_module *m, const char *name, const char *package, struct why *out,
	     struct err *err);
/* The function's name as a user writes it: a symbol as its C++ or Rust programmer wrote it, or
 * "module+0x1234" without one. Returns out. */
const char *why_spell(const struct sym_module *m, const struct sym_function *f, char *out, size_t n);
/* Whether the module has a function of this name, spelled so or as its symbol. */
bool why_has_function(const struct sym_module *m, const char *name);
void why_free(struct why *w);
