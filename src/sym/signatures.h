/* SPDX-License-Identifier: MIT */
/* Signatures of functions, as the debug information has them. */
#pragma once
#include "sym/module.h"

/* A parameter; name NULL: it has none. declared: with its type, as the language writes it. */
struct sym_parameter { char *name, *declared; };

struct sym_signature {
	uint64_t vaddr;
	char *name;              /* with its scopes: std::vector<int>::size */
	char *declared;          /* all of it: "int open(const char *pathname, int flags, ...)" */
	bool variadic;
	VEC(struct sym_parameter) parameters;
};

struct sym_signatures {
	bool has_dwarf;          /* false: nothing can be known */
	char *left_out;          /* as struct sym_inlined's */
	VEC(struct sym_signature) at; /* by vaddr, one for an address */
};

/* Reads those of all functions that have code. Takes as long as sym_inlined_find(). Returns 0, or
 * -errno and *err: -EBADMSG when the debug information is malformed, -ESTALE when another file has
 * taken the file's place. sym_signatures_free() frees it. */
int sym_signatures_read(const struct sym_module *m, struct sym_signatures *out, struct err *err);
/* Returns the signature of the function at a vaddr; NULL: not known. */
const struct sym_signature *sym_signature_at(const struct sym_signatures *s, uint64_t vaddr);
void sym_signatures_free(struct sym_signatures *s);
/* Frees what one signature owns, not the struct. */
void sym_signature_free(struct sym_signature *s);
