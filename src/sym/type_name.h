/* SPDX-License-Identifier: MIT */
/* Types as their language writes them. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

#include "base/vec.h"

/* The scopes of a unit's names: for each DIE in a namespace or a type, the DIE that holds it. */
struct type_scope { const void *die; Dwarf_Die holder; };
struct type_scopes {
	VEC(struct type_scope) at; /* in the file's order, so sorted by address */
	unsigned steps;            /* left in the declaration under way */
	uint64_t taken;            /* in all declarations: for the caller, who begins with 0 */
	uint64_t passed;           /* children passed over by type_next(), likewise */
};

/* Notes that the DIE is in holder, a namespace or a type. Called for the DIEs of a unit in the
 * file's order, before any name of it is asked for. */
void type_scopes_note(struct type_scopes *s, const Dwarf_Die *die, Dwarf_Die *holder);

/* Returns a name with the scopes that hold it, as in std::string; the caller frees it. NULL: it has
 * none. */
char *type_scoped_name(const struct type_scopes *s, Dwarf_Die *die);

/* Returns the declaration of `declared`, a name or "", whose type DW_AT_type of die tells, as in C:
 * "const char *path", "int (*f)(void)", "char buf[16]"; integers by their
 * usual names. Bounded, whatever the file says: what is
 * too deep or too long is "...". The caller frees it. */
char *type_declare(struct type_scopes *s, Dwarf_Die *die, const char *declared);

/* Goes on to the next child of a DIE: 0, or there is none. Not past a child with many below it
 * whose end elfutils would have to look for. s->passed counts the call, and what it passed over. */
int type_next(struct type_scopes *s, Dwarf_Die *child);
