/* SPDX-License-Identifier: MIT */
/* Where a function of a trace stands in the source, by the debug information of its file as it is
 * now. */
#pragma once
#include "base/err.h"
#include "trace/trace_info.h"

/* Finds the function by its name and its module's, as reports have them. 0, *path (for free(), as
 * the compiler saw it: not trusted) and *line; or -errno and *err: there is no such function, no
 * debug information, or the file has changed. */
int source_line_of(const struct trace_info *info, const char *name, const char *module, char **path,
		   uint32_t *line, struct err *err);
/* The file itself, if it is here; else the longest end of its path that names a regular file below
 * the working directory, as "./src/main.c", since programs are built elsewhere. Only absolute paths
 * have any. NULL: there is none. free() it. */
char *source_line_file(const char *path);
