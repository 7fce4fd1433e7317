/* SPDX-License-Identifier: MIT */
/* The records of a program's calls that take followed objects. image/objects.c plans it when a
 * program is set up, and follow/program.c reads it: the prototype of each watched function says
 * what it has. Only calls of functions that take the type are recorded, and which of them belong
 * to an object is decided by the reader. Where the call alone tells, the program leaves out
 * others. */
#pragma once
#include <stdbool.h>

#include "follow/wire.h"

struct sym_base;

struct follow_recording {
	/* The structure; its functions are known by the debug information. NULL: the registers in
	 * which numbers are passed are recorded, of all functions. */
	const char *type;
	/* bases of it, whose functions are watched, too: a pointer to one may be the object's */
	const struct sym_base *bases;
	uint32_t n_bases;
	const struct follow_plan *plan;
	/* functions that take it may come with a library that is not loaded yet */
	bool later;
	/* calls whose arguments fail the plan's tests belong to no object */
	bool by_field;
	/* without a type: the number that is looked for, in this argument from 0 on, or in any
	 * (FOLLOW_ARGUMENTS) */
	uint32_t nth;
	uint64_t value;
};

/* Parameters of the prototypes. Each argument that points to the type is one of the first two
 * names, GIVER in functions that return such a pointer, too. Behind it is a parameter for each
 * field of the plan, those of the tests first: a string, or a structure of one number by its
 * address, which tells whether the number could be read. */
#define FOLLOW_OBJECT "object"
#define FOLLOW_GIVER "giver"
/* In place of both where the argument points to a base: the address is that of the object that has
 * the base, if there is one. */
#define FOLLOW_BASE "base"
#define FOLLOW_FIELD "field"
