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
void why_free(struct why *w);
