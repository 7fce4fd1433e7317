/* SPDX-License-Identifier: MIT */
/* brace help --search: what the manual, the options' help and the index of questions (wants.h) say
 * about some words. All of it is compiled in. */
#pragma once
#include "base/out.h"
#include "ui/invocation.h"

/* Prints a line for each answer, the best one first: a command to type, and behind # what it does.
 * Returns the number of answers; 0: nothing has these words. */
size_t help_search(struct out *out, char *const *words, int n);
/* Prints the whole index of questions. */
void help_wants(struct out *out);
