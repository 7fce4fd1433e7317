/* SPDX-License-Identifier: MIT */
/* The functions of the C library that take and release locks, by name. std::mutex and C11's calls
 * end in these. Data alone; any thread. */
#pragma once
#include <stddef.h>

#include "shared/locks.h"

struct lock_function {
	const char *name;
	enum lock_kind kind;
	enum lock_act act;
};

/* Ends with one whose name is NULL. */
extern const struct lock_function lock_functions[];
/* Finds the function of a symbol's name of n bytes: a version behind it, and the underscores of an
 * alias, do not count. NULL: it is none of them. */
const struct lock_function *lock_function_find(const char *name, size_t n);
