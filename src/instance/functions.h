/* SPDX-License-Identifier: MIT */
/* The functions that the programs of a session have and that can be traced: what available_filter_functions lists,
 * and what filters are checked against. */
#pragma once
#include "base/string_set.h"
#include "model/function_list.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct function_name {
	char *name;
	const char *module;  /* NULL: of the program itself */
	const char *file;    /* its path */
};

struct functions {
	VEC(struct function_name) at;  /* in the order of the list */
	VEC(char *) files;             /* whose functions are in it: paths */
	VEC(char *) touched;           /* that were hooked at any time, by the first */
	struct string_set touched_set; /* the same */
};

/* Those of modules that came since. Their order stays: new ones come behind. info: nobody changes it meanwhile. */
void functions_update(struct functions *f, const struct trace_info *info);
void functions_free(struct functions *f);
/* A line each, of those in the list; NULL: of all. */
void functions_print(const struct functions *f, const struct function_list *list, struct out *out);
/* Whether one of them matches a pattern as set_ftrace_filter takes it; or may: it is about a module that is not there yet. */
bool functions_have(const struct functions *f, const char *pattern);
/* Remembers what is hooked now. */
void functions_touch(struct functions *f, const struct trace_info *info);
/* "NAME (1)" lines: of what is hooked now; of what was when functions_touch was called. */
void functions_print_hooked(const struct trace_info *info, struct out *out);
void functions_print_touched(const struct functions *f, struct out *out);
