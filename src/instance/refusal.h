/* SPDX-License-Identifier: MIT */
/* Why no function that can be traced matches a word of set_ftrace_filter and the like: it is inlined, too short, of a library
 * that is not opened, or a slip. For the error_log; the word is refused already. */
#pragma once
#include "trace/trace_info.h"

struct refusal_file { char *path; bool program, opened; };
/* The files of a session's programs, each once. */
typedef VEC(struct refusal_file) refusal_files;

/* A copy of what `info` has of them: it is needed no longer then. refusal_files_free frees. */
void refusal_files_find(const struct trace_info *info, refusal_files *out);
/* One clause, free() it; NULL: there is nothing to say. Reads the files, which may take a second: to be called without locks. */
char *refusal_of(const refusal_files *files, const char *word);
void refusal_files_free(refusal_files *files);
