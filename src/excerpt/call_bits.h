/* SPDX-License-Identifier: MIT */
/* One bit for each call of a trace, by thread, in the order in which its calls begin: what a first
 * reading finds out for a second one. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define CALL_BITS_MOST (UINT64_C(1) << 31) /* bits of all threads: 256 MiB */

struct call_bits {
	VEC(struct call_bits_of { uint64_t *words; uint64_t n; }) threads;
	uint64_t words; /* of all */
};

/* Sets a bit, false: there are too many. A bit that was never set is 0. */
bool call_bits_set(struct call_bits *b, uint32_t thread, uint64_t call);
bool call_bits_get(const struct call_bits *b, uint32_t thread, uint64_t call);
void call_bits_free(struct call_bits *b);
