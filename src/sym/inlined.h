/* SPDX-License-Identifier: MIT */
/* Why a function is not there: what DWARF and similar names say. */
#pragma once
#include "sym/module.h"

/* One inlined copy. caller is the function whose machine code holds it (the one to trace instead),
 * which in a chain of inlining is not the one that the source line stands in. NULL: DWARF does not
 * say. */
struct sym_inline_copy { char *caller, *file; uint32_t line; uint64_t vaddr; };

struct sym_inlined {
	bool has_dwarf;        /* false: nothing can be known */
	bool known;            /* DWARF has a subprogram of this name */
	/* The part that was not looked at, and why: a sentence without its end; NULL: none. */
	char *left_out;
	unsigned bodies;       /* out-of-line bodies */
	VEC(struct sym_inline_copy) copies;
};

/* Collects everything that the debug information (of the file, or of its debug file found by
 * build-id or debuglink) says of functions whose name is exactly `name`, as the source or the
 * linker spells it. Reads all of it, a second for 50 MB, unless it is larger than makes sense, or
 * made to take long: then left_out says so. Returns 0, or -errno and *err: -EBADMSG when it is
 * malformed, -ESTALE when another file has taken the file's place. sym_inlined_free() frees it. */
int sym_inlined_find(const struct sym_module *m, const char *name, struct sym_inlined *out,
		     struct err *err);
void sym_inlined_free(struct sym_inlined *in);

/* Returns how many of the module's names are near `name`, at most n, best first: those that contain
 * it, and those a few typing errors away. The names are the module's. */
size_t sym_nearest(const struct sym_module *m, const char *name, const char **out, size_t n);
