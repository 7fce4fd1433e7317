/* SPDX-License-Identifier: MIT */
/* The table by which unwinders get through a region's trampolines. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "shared/unwind_rule.h"

/* Returns the bytes that unwind_rule_emit() writes, a multiple of 8. */
size_t unwind_rule_bytes(void);

/* Writes the table for runtime address `at`, which 8 divides. *about is complete but for `step`. It
 * holds for pcs from `low` to `high`: all trampolines and islands. Returns 0; -ERANGE: they are too
 * far apart, or away, for the table. */
int unwind_rule_emit(const struct unwind_info *about, uint64_t low, uint64_t high, uint64_t at,
		     uint8_t *out);
