/* SPDX-License-Identifier: MIT */
/* Conditions on the arguments of calls, behind a function's name in set_ftrace_filter and
 * set_graph_function: `handle if path ~ "*.html" && size > 4096`. The language is that of
 * event filters (event/filter_compile.h), with the arguments' names for fields. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Where the condition of a word begins, behind its `if` and the blanks; 0: it has none. */
size_t function_condition_at(const char *word);
/* Bytes of ` if CONDITION` at p, right behind a name, to the end of the line; 0: none is there. */
size_t function_condition_length(const char *p);

/* Takes the terms about the returned value out of a condition: terms are what `&&` joins outside of
 * parentheses. condition: becomes the others, or "". *returned: those, to be freed, with
 * FUNCTION_RETURNED for `$retval`; NULL: there are none. Both keep each term's column, with blanks
 * in between. Returns NULL, or a sentence and where in the condition its fault is. */
#define FUNCTION_RETURNED "_retval"
const char *function_condition_split(char *condition, char **returned, size_t *fault);

/* Checks the condition without knowing the arguments: their types are taken from what they are
 * compared with. Returns NULL, or a sentence and where in the condition its fault is. */
const char *function_condition_check(const char *condition, size_t *fault);

/* The language compares integers alone. So floating-point numbers become integers of the same
 * order; -0 and 0 one. Of NaN, which nothing is compared with, the answer has no meaning. */
int64_t function_condition_order(double number);
/* Returns the condition, for the caller to free, with each number that is compared with replaced by
 * its order. */
char *function_condition_ordered(const char *condition);

struct filter_fault;
/* Where a fault of the compiler is, for a caret: ftrace's own column is beside or behind it. */
size_t function_condition_column(const struct filter_fault *fault);
