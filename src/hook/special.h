/* SPDX-License-Identifier: MIT */
/* Functions known by name to need care. Private to src/hook. */
#pragma once
#include "hook/plan.h"

struct special {
	enum hook_reason reason; /* REASON_NONE: nothing special */
	bool never;              /* not hooked at all; else entry only */
};

struct special special_function(const char *name);
/* How it leaves its stack, or LEAVE_NOT. */
enum leave_kind special_leave(const char *name);

/* Does a module of this function's name know what it does when it starts threads: libc, a sanitizer, Go? */
bool special_starts_threads(const char *name);

/* Runtimes that walk their stacks by looking up every return address: no function that
 * they call may see another one there. */
enum special_runtime { RUNTIME_PLAIN, RUNTIME_V8, RUNTIME_OCAML };
enum special_runtime special_runtime(const struct sym_module *m);
bool special_called_by_runtime(enum special_runtime r, const char *name);
