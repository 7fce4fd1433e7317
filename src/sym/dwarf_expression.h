/* SPDX-License-Identifier: MIT */
/* DWARF's expressions (DWARF 5, 2.5), as far as call frame information uses their operations.
 * Private to src/sym. */
#pragma once
#include "base/cursor.h"
#include "sym/unwind.h"

/* Evaluates the expression and returns the top of its stack in *out. first: the word on the stack
 * at the begin, or NULL. False: an unknown operation, a stack that is empty or full, too many
 * steps, or memory that is not known. */
bool dwarf_expression(struct cursor c, const struct unwind_regs *regs, const uint64_t *first,
		      unwind_read *read, void *context, uint64_t *out);
