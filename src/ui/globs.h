/* SPDX-License-Identifier: MIT */
/* Operands that are patterns of function names. */
#pragma once
#include "model/function_list.h"

/* Adds the operands from `first` on to the list. 0, or EXIT_BRACE (said). */
int globs_read(struct function_list *l, char *const *operands, int n, int first);
