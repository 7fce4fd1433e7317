/* SPDX-License-Identifier: MIT */
/* A call that begins, by the address that trampolines pass to the agent's C code as `sp`: on the
 * stack, of the word that says where the call returns to. Inside of the traced process, on the
 * thread that calls. */
#pragma once
#include <stdint.h>

#include "arch/machine.h"

/* Returns, and changes, where the call returns to. */
static inline uint64_t entry_return(uint64_t entry);
static inline void entry_set_return(uint64_t entry, uint64_t to);
/* Returns the caller's stack pointer as it is after the return. */
static inline uint64_t entry_outer_sp(uint64_t entry);
/* Returns the entry's address of the call after whose return the stack pointer is `sp`. */
static inline uint64_t entry_before(uint64_t sp);

#include MACHINE_HEADER(entry.h)
