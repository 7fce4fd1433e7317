/* SPDX-License-Identifier: MIT */
/* Functions that are known by name to need care. Private to src/hook. */
#pragma once
#include "hook/plan.h"

struct special {
	enum hook_reason reason; /* REASON_NONE: nothing special */
	bool never;              /* not hooked at all; else entry only */
};

/* Returns what is known of a function of this name. */
struct special special_function(const char *name);
/* Returns how the function leaves its stack, or NONLOCAL_NOT. */
enum nonlocal_kind special_nonlocal(const char *name);

/* True if a module with a function of this name knows how to start threads: libc, a sanitizer,
 * Go. */
bool special_starts_threads(const char *name);

/* Runtimes that walk their stacks by looking up every return address: no function that they call
 * may see another one there. GHC's: its code is jumped to, and has no return address at all. */
enum special_runtime { RUNTIME_PLAIN, RUNTIME_V8, RUNTIME_OCAML, RUNTIME_MONO_AOT, RUNTIME_GHC };
enum special_runtime special_runtime(const struct sym_module *m);
/* True if the runtime may walk the stack from a call of this function, or jumps to it. */
bool special_called_by_runtime(enum special_runtime r, const char *name);
