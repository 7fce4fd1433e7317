/* SPDX-License-Identifier: MIT */
/* A list of functions by pattern, as in set_ftrace_filter. ftrace turns patterns into functions
 * when they are written. Here the functions are not known yet (a program may load modules later),
 * so that the patterns are kept in the order written, and the last one that matches a function
 * decides about it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct function_pattern {
	char *text;         /* as written */
	char *glob;         /* glob that the function's name matches */
	char *module;       /* glob that its module matches; NULL: any */
	uint64_t address;   /* where the function is in its file; 0: anywhere */
	bool remove;        /* "!...": takes functions out of the list */
	bool other_modules; /* ":mod:!m": every module but m */
	/* the condition on the arguments of its calls, as written behind `if`, and that on what
	 * they return (function_condition_split()); NULL: none. Their length is that of all that
	 * is behind `if` */
	char *condition, *returned;
};

struct function_list {
	VEC(struct function_pattern) patterns;
};

/* Replaces the list by the words of text, or appends them. Words are separated by newlines or
 * blanks (except inside of <> or ()), each
 *
 *	[!]GLOB    [!]GLOB:mod:[!]MODULE    [!]:mod:[!]MODULE    [!]GLOB@MODULE    [!]@MODULE
 *	[!]GLOB@0xADDRESS
 *
 * and all but removals may go on with ` if CONDITION` (function_condition.h), to the line's end.
 * `!` removes what earlier words added. 0, or -EINVAL and *err with the column; then the list is
 * unchanged. */
int function_list_write(struct function_list *l, const char *text, bool append, struct err *err);

/* Bytes of the word at `text`, which ends at a blank that is not inside of its brackets, or, with a
 * condition, at the line's end. */
size_t function_word_length(const char *text);

/* function_list_write for a list of modules (-L): every word is [!]GLOB of modules' names. */
int function_list_write_modules(struct function_list *l, const char *text, bool append,
				struct err *err);

/* The patterns, one a line; free() it. `empty` is the text of an empty list. */
char *function_list_read(const struct function_list *l, const char *empty);

/* Whether the list contains the function. `module` is a path or file name, or NULL if the module
 * does not matter. An empty list matches nothing. */
bool function_list_match(const struct function_list *l, const char *name, const char *module);

/* function_list_match by the symbol, or by the name as its programmer wrote it. */
bool function_list_has(const struct function_list *l, const char *symbol, const char *module);
/* function_list_has() of a function whose address in its file is known: GLOB@0xADDRESS means it
 * alone, not all that share its name. */
bool function_list_has_at(const struct function_list *l, const char *symbol, uint64_t address,
			  const char *module);

/* The pattern that adds the function to the list, by its symbol or by the name as its programmer
 * wrote it: the last one that matches. NULL: the list does not contain it. */
const struct function_pattern *function_list_find(const struct function_list *l, const char *symbol,
						  const char *module);

/* Whether some pattern has a condition; one on what a call returns. */
bool function_list_has_conditions(const struct function_list *l);
bool function_list_has_returned(const struct function_list *l);
/* 0, or -EINVAL and *err if a word of the text has a condition, for lists that take none. */
int function_list_refuse_conditions(const char *text, struct err *err);

/* Whether a list of modules contains the module with this path. */
bool function_list_has_module(const struct function_list *l, const char *module);

/* Whether a glob matches the module with this path: it is compared with the path, the file name,
 * and the file name cut at each dot from ".so" on (libz.so.1.2, libz.so.1, libz.so, libz). */
bool function_module_match(const char *glob, const char *module);

/* The function's name if the pattern adds functions of that one name; else NULL. */
const char *function_pattern_name(const struct function_pattern *p);

/* Whether both have the same words in the same order. */
bool function_list_is_same(const struct function_list *a, const struct function_list *b);
void function_list_copy(struct function_list *to, const struct function_list *from);
void function_list_free(struct function_list *l);
