/* SPDX-License-Identifier: MIT */
/* Why a function isn't there: what DWARF knows of a name. */
#pragma once
#include "sym/module.h"

/* caller is the function whose machine code holds the copy (the one to trace instead), which
 * in a chain of inlining is not the one the source line stands in. NULL: DWARF does not say. */
struct sym_inline_copy { char *caller, *file; uint32_t line; uint64_t vaddr; };

struct sym_inlined {
	bool has_dwarf;        /* false: nothing can be known */
	bool known;            /* DWARF has a subprogram of this name */
	char *left_out;        /* what was not looked at, and why: a sentence without its end; NULL: nothing */
	unsigned bodies;       /* out-of-line bodies */
	VEC(struct sym_inline_copy) copies;
};

/* Everything the debug information (of the file, or its separate debug file found by
 * build-id or debuglink) says of functions matching `name` exactly, as the source or the
 * linker spells it. Reads all of it, a second for 50 MB, unless it is larger than makes sense, or made to take
 * long: then left_out says so. 0, or -errno and *err: -EBADMSG when it is malformed, -ESTALE when another file has taken the
 * file's place. sym_inlined_free frees. */
int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out,
		     struct err *err);
void sym_inlined_free(struct sym_inlined *in);

/* Up to n names of the module's functions nearest to `name`, best first: those that hold
 * it, and those a few typing errors away. None when nothing is near. The names are the module's.
 * Returns how many. */
size_t sym_nearest(const struct sym_module *m, const char *name, const char **out, size_t n);
