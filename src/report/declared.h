/* SPDX-License-Identifier: MIT */
/* Where functions of a trace are declared in the source, by the debug information of the files that
 * the trace names, as they are now. Each file is read once, when a function of it is asked for. */
#pragma once
#include "base/err.h"
#include "trace/trace_info.h"

struct declared;

/* Never NULL; reads nothing yet. One thread uses it at a time. */
struct declared *declared_new(void);
void declared_free(struct declared *d); /* NULL is fine */
/* The file and the line of the function's name; the path is the compiler's, not trusted, and valid
 * as long as *d. NULL: not known (no debug information, another file than the traced one). */
const char *declared_of(struct declared *d, const struct trace_module *m,
			const struct trace_function *f, uint32_t *line);
/* 0, or the first failure of this computer (EIO, ENOMEM, no more descriptors) while a file was
 * read, negated and in *err: some functions that have a declaration were told as having none. A
 * file that is gone, is another one now or has no debug information is no failure. */
int declared_failure(const struct declared *d, struct err *err);
