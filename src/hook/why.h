/* SPDX-License-Identifier: MIT */
/* Why a function isn't there: a name that the user asked for, and what the binary and its
 * debug information know of it, in one sentence. Prints nothing. */
#pragma once
#include <stdbool.h>

#include "hook/cache.h"
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

/* The functions that a choice means: how many can be hooked, how many cannot, and the reason of the first that cannot. */
struct why_hooks {
	uint32_t hooked, refused;
	enum hook_reason reason;
};
/* select is called with each function's name, as hook_function_name gives it. Cold fragments are no functions. */
void why_count(const struct hook_module *m, bool (*select)(const char *name, void *arg), void *arg, struct why_hooks *out);
/* Why nothing can be hooked of what `name` (a name or a glob, for the sentence) means; free() it. NULL: something can, or it means
 * nothing. */
char *why_refused(const struct why_hooks *w, const char *name);
