/* SPDX-License-Identifier: MIT */
/* Functions that only their direct callers know. Private to src/sym. */
#pragma once
#include "sym/functions.h"

/* Replaces the list by functions in the code that m's functions (whose sizes are not bounded yet)
 * leave unknown, if that is much. Not sorted. */
void called_find(const struct sym_module *m, const struct elf_view *v,
		 const struct eh_frame *frame, struct found_list *out);
