/* SPDX-License-Identifier: MIT */
/* Functions of a module that have one name but for their parameters, and are told apart by these: overloads, and copies of templates.
 * Each reader keeps its own: nothing is shared between threads. */
#pragma once
#include "base/doubles.h"
#include "trace/trace_info.h"

struct overloads {
	VEC(struct overloads_of { const struct trace_function *functions; size_t n; struct doubles plain; }) modules;
};

/* trace_function_name's text, with parameters if another function of the module has the name without them; *whole: they are there.
 * The module's names are looked at when the first of C++ or Rust is asked for, and again when functions have come. */
int overloads_name(struct overloads *o, const struct trace_module *m, const struct trace_function *f, char *out, size_t n, bool *whole);
/* That text in memory that the caller frees. */
char *overloads_text(struct overloads *o, const struct trace_module *m, const struct trace_function *f, bool *whole);
void overloads_free(struct overloads *o);
