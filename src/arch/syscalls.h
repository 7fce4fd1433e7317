/* SPDX-License-Identifier: MIT */
/* The machine's system calls: rows S(number, name, arguments) for a macro S, sorted by number. No
 * include guard: each includer has an S of its own. */
#include "arch/machine.h"
#include MACHINE_HEADER(syscalls.h)
