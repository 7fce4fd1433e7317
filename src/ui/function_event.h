/* SPDX-License-Identifier: MIT */
/* An event at a function's beginning or return, for commands that are told the function's name:
 * with the parameters that a text names, as the debug information, or brace's own list of the C
 * library's functions, has them. */
#pragma once
#include <stdio.h>

#include "ui/invocation.h"

/* Defines one at FUNCTION, or MODULE:FUNCTION, of the program or of a library of it (n characters
 * of text from `at` on). `uses`: texts that name its fields, NULL-terminated: parameters, arg1 to
 * arg6, retval; the latter, or FUNCTION%return, makes it an event at the return, whose parameters
 * are those that the function was called with; __frame, by which a call's begin and its return are
 * known to be one's. *name: "uprobes:EVENT", as long as inv's definitions. 0, or -errno and *err
 * with the column in text. */
struct function_question { const char *text; size_t at, n; const char *const *uses; bool returns; };
int function_event_define(struct invocation *inv, const struct function_question *q,
			  const char **name, struct err *err);
/* Arms events with the first argument at the beginning of each of the functions, which a NULL ends,
 * by the option `events`; a function that is not there is passed over. 0, or -errno and *err. */
int function_event_arm(struct invocation *inv, const char *const *functions,
		       const struct option *events, struct err *err);
/* Whether the word, n characters, stands in the text by itself: in no other name, and in no
 * quotes. */
bool function_event_uses(const char *text, const char *word, size_t n);
/* The file of a library of the program, or of the process that is attached to, that has a function
 * of this name; for free(). NULL: the program itself has it, or none has. *prototype: of a function
 * whose parameters brace knows (known_functions.h); NULL: of another. */
char *function_event_library(const struct invocation *inv, const char *name,
			     const char **prototype);
/* Writes " NAME=FETCHARG:TYPE" of the parameter with this name, n characters; false: nothing, there
 * is none in a register. returns: at the function's return. */
bool function_event_parameter(FILE *to, const char *prototype, const char *name, size_t n,
			      bool returns);
