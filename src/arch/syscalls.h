/* SPDX-License-Identifier: MIT */
/* The machine's system calls: rows S(number, name, arguments) for a macro S, sorted by number. No
 * include guard: each includer has an S of its own. */
#if defined(__x86_64__)
#include "arch/x86_64/syscalls.h"
#else
#error "no system calls of this machine: CONTRIBUTING.md, Add a machine"
#endif
