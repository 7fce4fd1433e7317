/* SPDX-License-Identifier: MIT */
/* Operands that are patterns of functions. */
#pragma once
#include "model/function_list.h"

/* Reads the operands from `first` on into the list. 0 or EXIT_BRACE (said). */
int globs_read(struct function_list *l, char *const *operands, int n, int first);
