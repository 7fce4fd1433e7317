/* SPDX-License-Identifier: MIT */
/* Calls that cannot belong to a followed object, left out in the program itself: the conditions of
 * what is followed (follow/wire.h) as conditions on calls (image/conditions.h). They let through
 * all calls that the reader chooses, and perhaps more. */
#pragma once
#include "follow/recorded.h"
#include "image/arguments.h"

/* The way to one argument that points to the type. */
struct object_argument {
	struct fetch_insn insns[ARGUMENT_VALUE_INSNS];
	uint32_t n;
	bool base; /* to a base of the type */
};

/* Makes the condition that one of the arguments passes what a filter can express of the plan's
 * tests. Nothing of it can be: *out has no filter, and every call is recorded. The caller frees
 * *out. */
void object_conditions_make(const struct object_argument *arguments, uint32_t n,
			    const struct follow_plan *plan, struct condition *out);
/* A condition for a number in the argument `nth`, from 0 on, or in any of the first six. */
void object_conditions_by_value(uint32_t nth, uint64_t value, struct condition *out);
