/* SPDX-License-Identifier: MIT */
/* The kernel's functions: which can be traced, and why others cannot. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct kernel_function {
	const char *name;
	const char *module;     /* "" for the kernel itself */
	bool traceable;
	const char *word, *why; /* not traceable: a word, and a sentence; otherwise "" */
};

/* Calls `each` for every function until it returns false; all: also for those that cannot be
 * traced. Names are valid during the call. top: the kernel's tracing directory. 0, or -errno and
 * *err. */
int kernel_functions_each(const char *top, bool all,
			  bool (*each)(void *context, const struct kernel_function *f),
			  void *context, struct err *err);
/* Looks whether a text for set_ftrace_filter or its like names a function that can be traced,
 * before it is written: the kernel empties the list first. 0, or -errno and *err, as
 * kernel_functions_explain(). */
int kernel_functions_check(const char *top, const char *text, struct err *err);
/* Says why the kernel takes a text for set_ftrace_filter or its like not: -EINVAL and *err. */
int kernel_functions_explain(const char *top, const char *text, struct err *err);
/* kernel_functions_explain() of n texts, of which each gets its sentence: `tell` is called for one
 * after the other. 0, or -errno and *err if the kernel's functions cannot be read. */
int kernel_functions_explain_each(const char *top, const char *const *texts, size_t n,
				  void (*tell)(const struct err *why), struct err *err);
