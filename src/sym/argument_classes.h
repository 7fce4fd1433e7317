/* SPDX-License-Identifier: MIT */
/* Where the calling convention of x86-64 (System V, 3.2.3) puts structures, which is the only
 * convention that is known. Private to src/sym. */
#pragma once
#include "sym/argument_types.h"

#define ARGUMENT_WORD 8u /* bytes of a register, and of a place on the stack */

/* A structure's classes, as its members give them. */
struct argument_classes {
	uint64_t base;      /* of the structure within the whole */
	unsigned depth, members;
	uint64_t *work;
	uint8_t used, numbers; /* bits, one a word: it has a member; it has one that is no float */
	bool memory;        /* a member lies at no multiple of its size */
	bool wide;          /* values of two words are known, too: of what is returned alone */
	bool x87, beside;   /* it has a long double, something else */
	bool unclassed;     /* a member in registers whose class is not told */
	bool flexible;      /* an array without a length ends it */
	bool vector;        /* a member is a vector of two words */
	bool paired;        /* a member is an integer of two words */
	unsigned values;    /* members that are no structures, elements included */
	bool aligned;       /* it may have to be on the stack at more than a multiple of a word */
	bool beyond;        /* perhaps even at more than a multiple of two words */
	bool known;         /* of all members */
};

/* Where a structure that is copied as bytes is passed and returned. Fills in *c, of which the
 * caller sets `work` and what it knows (`memory`, `wide`). */
enum argument_way argument_struct_way(Dwarf_Die *type, struct argument_classes *c);
/* Fills in how the structure is passed. False: that is not known. memory: it is in no register.
 * *work grows by the children that were read. */
bool argument_struct_location(Dwarf_Die *type, bool memory, struct sym_location *location,
			      uint64_t *work);
/* Whether the type's unit was compiled by clang. */
bool argument_unit_is_clang(Dwarf_Die *type);
/* True for x87's. __float128 has the same size and encoding, and lies elsewhere. */
bool argument_is_long_double(Dwarf_Die *type);
/* Whether it is a _Float16. */
bool argument_is_half(Dwarf_Die *type);
/* Bytes of an array with all its dimensions; 0: not known. */
uint64_t argument_array_bytes(Dwarf_Die *type);
