/* Why a function isn't there: what DWARF knows of a name. */
#pragma once
#include "sym/module.h"

struct sym_inline_copy { char *caller, *file; uint32_t line; uint64_t vaddr; };

struct sym_inlined {
	bool has_dwarf;        /* false: nothing can be known */
	bool known;            /* DWARF has a subprogram of this name */
	unsigned bodies;       /* out-of-line bodies */
	VEC(struct sym_inline_copy) copies;
};

/* Everything the debug information (of the file, or its separate debug file found by
 * build-id or debuglink) says of functions matching `name` exactly. 0 or -errno. */
int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out, struct err *err);
void sym_inlined_free(struct sym_inlined *in);

/* Up to n names of the module nearest to `name` (edit distance), best first. Returns how many. */
size_t sym_nearest(const struct sym_module *m, const char *name, const char **out, size_t n);
