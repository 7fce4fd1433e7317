/* SPDX-License-Identifier: MIT */
/* A list of functions by pattern, as set_ftrace_filter holds one. ftrace turns patterns into
 * functions when they are written; here the functions are not known yet (a program may load
 * modules later), so the patterns stay, in the order written, and the last one that matches
 * a function decides about it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

struct function_pattern {
	char *text;         /* as written */
	char *glob;         /* of the function's name */
	char *module;       /* glob of its module; NULL: any */
	bool remove;        /* "!...": takes functions out of the list */
	bool other_modules; /* ":mod:!m": every module but m */
};

struct function_list {
	VEC(struct function_pattern) patterns;
};

/* Words of text, separated by blanks (but for those inside of <> or ()) or newlines, each
 *
 *	[!]GLOB    [!]GLOB:mod:[!]MODULE    [!]:mod:[!]MODULE    [!]GLOB@MODULE    [!]@MODULE
 *
 * replace the list, or are appended to it. `!` takes out what the words before put in. 0, or
 * -EINVAL and *err with the column; then the list is unchanged. */
int function_list_write(struct function_list *l, const char *text, bool append, struct err *err);

/* Bytes of the word at `text`, which ends at a blank that is not inside of its brackets. */
size_t function_word_length(const char *text);

/* The same for a list of modules (-L): every word is [!]GLOB of modules' names. */
int module_list_write(struct function_list *l, const char *text, bool append, struct err *err);

/* The patterns, one a line; free() it. `empty` is what an empty list shows. */
char *function_list_read(const struct function_list *l, const char *empty);

/* Whether the list holds the function. `module` is a path or file name, or NULL if the module
 * does not matter. An empty list matches nothing. */
bool function_list_match(const struct function_list *l, const char *name, const char *module);

/* The same by its symbol, or as its programmer wrote it. */
bool function_list_has(const struct function_list *l, const char *symbol, const char *module);

/* Whether a list of modules holds the module with this path. */
bool module_list_match(const struct function_list *l, const char *module);

/* Whether a glob means the module with this path: it is matched against the path, the file
 * name, and the file name cut at each dot from ".so" on (libz.so.1.2, libz.so.1, libz.so, libz). */
bool module_match(const char *glob, const char *module);

/* The function's name if the pattern puts in functions of that one name; else NULL. */
const char *function_pattern_name(const struct function_pattern *p);

/* The same words in the same order. */
bool function_list_is_same(const struct function_list *a, const struct function_list *b);
void function_list_copy(struct function_list *to, const struct function_list *from);
void function_list_free(struct function_list *l);
