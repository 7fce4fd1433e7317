/* SPDX-License-Identifier: MIT */
/* DWARF's expressions (DWARF 5, 2.5), those operations that call frame information is made with. Private to src/sym. */
#pragma once
#include "base/cursor.h"
#include "sym/unwind.h"

/* What is on top of its stack in the end. first: what is on it at the beginning; or NULL. false: an operation that is not known, a
 * stack that is empty, full, or too many steps, or memory that is not known. */
bool dwarf_expression(struct cursor c, const struct unwind_regs *regs, const uint64_t *first, unwind_read *read, void *context,
		      uint64_t *out);
