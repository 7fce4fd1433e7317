/* SPDX-License-Identifier: MIT */
/* Why a function is not there: what the binary and its debug information know of a name that the
 * user asked for, in one sentence. Prints nothing. */
#pragma once
#include <stdbool.h>

#include "hook/cache.h"
#include "sym/module.h"

struct why {
	bool there;     /* the module has a function of this name */
	char *sentence; /* advice for the user; NULL: none, all of it can be traced */
};

/* Looks the name up and makes the sentence; why_free() frees it. `package`: name of the file's
 * package for the advice, or NULL. Returns 0, or -errno and *err. */
int why_find(const struct sym_module *m, const char *name, const char *package, struct why *out,
	     struct err *err);
/* Writes the function's name as a user does: a symbol as its C++ or Rust programmer wrote it, or
 * "module+0x1234" without one. Returns out. */
const char *why_spell(const struct sym_module *m, const struct sym_function *f, char *out,
		      size_t n);
/* True if the module has a function of this name, in this spelling or as its symbol. */
bool why_has_function(const struct sym_module *m, const char *name);
void why_free(struct why *w);

/* Counts over the functions that a choice means, and the reason of the first that cannot be
 * hooked. */
struct why_hooks {
	uint32_t hooked, refused;
	enum hook_reason reason;
};
/* Fills in *out. select is called with each function's name, as hook_function_name() writes it.
 * Cold fragments do not count. */
void why_count(const struct hook_module *m, bool (*select)(const char *name, void *arg), void *arg,
	       struct why_hooks *out);
/* Returns the sentence why nothing can be hooked of what `name` (a name or a glob) means; free()
 * it. NULL: something can, or it means nothing. */
char *why_refused(const struct why_hooks *w, const char *name);
