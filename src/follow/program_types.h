/* SPDX-License-Identifier: MIT */
/* Fields of a program's structure, by its debug information, as places (wire.h). */
#pragma once
#include "follow/expression.h"
#include "sym/source.h"

/* Fills in the tests and what is shown. Returns 0, or -EINVAL and *err with the column. */
int follow_program_plan(struct sym_structure *st, const struct follow_expression *x,
			const struct follow_shown *shown, struct follow_plan *out,
			struct err *err);
