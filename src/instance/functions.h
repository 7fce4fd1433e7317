/* SPDX-License-Identifier: MIT */
/* The functions of a session's programs that can be traced: available_filter_functions lists them,
 * and filters are checked against them. Not locked; struct instances's `names` protects it. */
#pragma once
#include "base/string_set.h"
#include "model/function_list.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct function_name {
	char *name;
	const char *module;  /* NULL: the program itself */
	const char *file;    /* path of the file */
};

struct functions {
	VEC(struct function_name) at;  /* in the order of the file available_filter_functions */
	VEC(char *) files;             /* paths of the files that `at` covers */
	/* Names of functions that were hooked at any time, by first time. */
	VEC(char *) touched;
	struct string_set touched_set; /* the strings of `touched` */
};

/* Adds the functions of modules that joined since the last call. The order of the others stays. No
 * other thread changes info during the call. */
void functions_update(struct functions *f, const struct trace_info *info);
/* Leaves *f empty. */
void functions_free(struct functions *f);
/* Prints a line for each function in the list; NULL: for each function. */
void functions_print(const struct functions *f, const struct function_list *list, struct out *out);
/* Whether a function matches a pattern as set_ftrace_filter takes it. Also true for a pattern of a
 * module that is not mapped yet: it may match later. */
bool functions_have(const struct functions *f, const char *pattern);
/* Adds the functions that are hooked now to `touched`. */
void functions_touch(struct functions *f, const struct trace_info *info);
/* Prints "NAME (1)" lines: of the functions hooked now, and of those that functions_touch has
 * seen. */
void functions_print_hooked(const struct trace_info *info, struct out *out);
void functions_print_touched(const struct functions *f, struct out *out);
