/* SPDX-License-Identifier: MIT */
/* DWARF's location expressions (DWARF 5, 2.6) as chains of loads: what a fetch program can do.
 * Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

#include "sym/chain.h"

/* Base address and CFA, from which an expression counts. NULL: not known. */
struct dwarf_frame { const struct sym_chain *base, *cfa; };

/* Follows n operations. *out: the value's address if *memory, else the value. Returns NULL, or why
 * the value cannot be fetched: the end of a sentence about the variable. */
const char *dwarf_location(const Dwarf_Op *ops, size_t n, const struct dwarf_frame *frame,
			   struct sym_chain *out, bool *memory);
