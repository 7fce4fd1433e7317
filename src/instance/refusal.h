/* SPDX-License-Identifier: MIT */
/* Finds out why no function that can be traced matches a word of set_ftrace_filter and the like: it
 * is inlined, too short, of a library that is not opened, or misspelt. The sentence goes to
 * error_log; the word is already refused. */
#pragma once
#include "trace/trace_info.h"

/* path is owned. program: not a library. opened: set_ftrace_module selects it. */
struct refusal_file { char *path; bool program, opened; };
/* The files of a session's programs, each once. */
typedef VEC(struct refusal_file) refusal_files;

/* Copies what `info` has of the files, so that info can be released before refusal_of.
 * refusal_files_free frees the result. */
void refusal_files_find(const struct trace_info *info, refusal_files *out);
/* Returns one clause, to be freed by free(); NULL: nothing is known. Reads files, which may take a
 * second: call it without locks. */
char *refusal_of(const refusal_files *files, const char *word);
void refusal_files_free(refusal_files *files);
