/* SPDX-License-Identifier: MIT */
/* The conditional jump of a filter's instruction, for the two that make code of filters
 * (filter_code.c, condition_code.c). */
#pragma once
#include "shared/filter.h"

/* Returns the second byte of the jcc with 32-bit distance that follows `cmp field, value`, or
 * `test`, and is taken where the filter goes to the instruction's target. */
static inline uint8_t filter_jump(const struct filter_insn *i)
{
	/* Condition codes: unsigned, signed. */
	static const uint8_t conditions[FILTER_COMPARES][2] = {
		[FILTER_EQ] = { 0x4, 0x4 },
		[FILTER_NE] = { 0x5, 0x5 },
		[FILTER_LT] = { 0x2, 0xc },
		[FILTER_LE] = { 0x6, 0xe },
		[FILTER_GT] = { 0x7, 0xf },
		[FILTER_GE] = { 0x3, 0xd },
		[FILTER_AND] = { 0x5, 0x5 },
	};
	uint8_t holds = conditions[i->compare][!!(i->flags & FILTER_SIGNED)];

	/* The lowest bit of a condition code negates it. */
	return (uint8_t)(0x80 | (i->flags & FILTER_BRANCH ? holds : holds ^ 1));
}
