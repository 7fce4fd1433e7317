/* SPDX-License-Identifier: MIT */
/* Relative displacements in code, searched without decoding it: sym/cold.c's inner loop, which sees
 * each byte of a program's text. A field is 32 bits, relative to its own end. No state; any
 * thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/machine.h"

/* By the two bytes before the field, which have to be readable. The first: true if it is a
 * conditional jump's. The second: true if it is a call's, or that of an operand that is an address.
 * Both may be wrong about bytes in the middle of an instruction. */
static inline bool code_field_branches(const uint8_t *field);
static inline bool code_field_is_use(const uint8_t *field);
/* Either of the two, for the 16 fields that begin at `at` to `at` + 15: bit i is the field's at
 * `at` + i. */
static inline uint32_t code_fields_used(const uint8_t *at);
/* Returns bit 4k for each of the four lanes k that is all ones. */
typedef uint32_t code_lanes __attribute__((vector_size(16)));
static inline uint32_t code_spread_mask(code_lanes mask);

#include MACHINE_HEADER(code_fields.h)
