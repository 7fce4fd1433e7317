/* SPDX-License-Identifier: MIT */
/* Wrappers of system calls in static programs: the instruction before the call, which loads its
 * number, is replaced by a jump, and code elsewhere does it and goes to the agent. No state. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

/* The machine's part has WRAPPER_READ, the bytes that wrapper_at() reads, and WRAPPER_CODE_MAX,
 * those that wrapper_emit() writes at most. */

/* False: no wrapper's load begins with this byte. */
static inline bool wrapper_may_begin(uint8_t byte);
/* Returns the bytes from p up to the system call, at least a jump's; 0: no load and call stand
 * here. *number: the call's; WRAPPER_ANY: the program says which at run time. */
#define WRAPPER_ANY UINT32_MAX
uint8_t wrapper_at(const uint8_t *p, uint32_t *number);
/* Writes code for address `at`: the n bytes that wrapper_at() counted, then the way to the agent,
 * which is told the address of the call. The bytes stood at `from`. Returns the bytes written. */
unsigned wrapper_emit(const uint8_t *bytes, unsigned n, uint64_t from, uint64_t agent, uint64_t at,
		      uint8_t *out);

#include MACHINE_HEADER(wrapper.h)
