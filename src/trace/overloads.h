/* SPDX-License-Identifier: MIT */
/* Functions of a module that have one name but for their parameters (overloads, copies of
 * templates), and are told apart by printing these. Each reader keeps its own: nothing is shared
 * between threads. */
#pragma once
#include "base/doubles.h"
#include "trace/trace_info.h"

struct overloads {
	VEC(struct overloads_of {
		const struct trace_function *functions;
		size_t n;
		struct doubles plain;
	})
	modules;
};

/* Writes trace_function_name's text, with parameters if another function of the module has the same
 * name without them (*whole). Returns the length as snprintf does. The module's names are looked at
 * when the first C++ or Rust name is asked for, and again when functions have come. */
int overloads_name(struct overloads *o, const struct trace_module *m,
		   const struct trace_function *f, char *out, size_t n, bool *whole);
/* Returns that text in memory that the caller frees. */
char *overloads_text(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, bool *whole);
/* Returns the name under which reports list a function, in memory that the caller frees: a PLT
 * entry whose library is not known is marked "@plt", and "[unknown]" stands for f NULL. *file: the
 * last component of its file's path, or "". */
char *overloads_row_text(struct overloads *o, const struct trace_module *m,
			 const struct trace_function *f, const char **file);
void overloads_free(struct overloads *o);
