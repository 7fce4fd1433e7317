/* SPDX-License-Identifier: MIT */
/* The names of functions in reports, no two of a module under one: what tells them apart is added
 * where it is needed. Each reader keeps its own: nothing is shared between threads. */
#pragma once
#include "base/doubles.h"
#include "trace/trace_info.h"

/* Name, with parameters, with all the compiler knows, with the kind of a destructor, symbol. */
#define OVERLOADS_LEVELS 5u

struct overloads {
	VEC(struct overloads_of {
		const struct trace_function *functions;
		size_t n;
		bool ada;                /* names without mangling may be Ada's */
		/* of its functions, and of its PLT entries, which lead to others' */
		struct doubles at[2][OVERLOADS_LEVELS];
	})
	modules;
};

/* Returns trace_function_name's text in memory that the caller frees: with parameters if another
 * function of the module has the same name without them (*whole), and with more where these do not
 * differ, "init@0x1139" at last. The module's names are looked at when the first is asked for, and
 * again when functions have come. */
char *overloads_text(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, bool *whole);
/* Returns the name under which reports list a function, in memory that the caller frees: a PLT
 * entry whose library is not known is marked "@plt", and "[unknown]" stands for f NULL. *file: the
 * last component of its file's path, or "". */
char *overloads_row_text(struct overloads *o, const struct trace_module *m,
			 const struct trace_function *f, const char **file);
void overloads_free(struct overloads *o);
