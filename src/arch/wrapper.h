/* SPDX-License-Identifier: MIT */
/* Wrappers of system calls in static programs: the instruction before the call, which loads its
 * number, is replaced by a jump, and code elsewhere does it and goes to the agent. No state. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

/* The machine's part has WRAPPER_BYTES_MAX, those of a load and the call behind it at most, and
 * WRAPPER_CODE_MAX, the bytes that wrapper_emit() writes at most. */

/* Searches [from, bytes) of p for a load and the system call behind it. Returns where the load
 * begins, or `bytes`: there is none. *n: bytes up to the system call, at least a jump's. *number:
 * the call's; WRAPPER_ANY: the program says which at run time. */
#define WRAPPER_ANY UINT32_MAX
uint64_t wrapper_next(const uint8_t *p, uint64_t bytes, uint64_t from, uint8_t *n,
		      uint32_t *number);
/* Writes code for address `at`: the n bytes that wrapper_next() counted, then the way to the agent,
 * which is told the address of the call. The bytes stood at `from`. Returns the bytes written. */
unsigned wrapper_emit(const uint8_t *bytes, unsigned n, uint64_t from, uint64_t agent, uint64_t at,
		      uint8_t *out);

#include MACHINE_HEADER(wrapper.h)
