/* SPDX-License-Identifier: MIT */
/* Patches as brace made them, in memory of its own: their addresses, new bytes and former bytes. A
 * process is told of them in memory that it can only read; of the memory in which it answers, each
 * patch's outcome is taken (image_hear). */
#pragma once
#include <assert.h>
#include <string.h>

#include "base/vec.h"
#include "shared/memory.h"

struct patch_list { struct patch *at; size_t n, cap; }; /* a VEC with a name */

/* Adds a patch of `length` bytes that replace `expected`; NULL: not known beforehand. The caller
 * fills in its bytes before the list changes again. */
static inline struct patch *patch_list_add(struct patch_list *l, uint64_t address, uint8_t length,
					   const void *expected, uint32_t function, uint16_t region)
{
	struct patch *p = vec_add(l);

	*p = (struct patch){
		.address = address, .function = function, .length = length, .region = region
	};
	assert(length <= sizeof(p->bytes));
	if (expected)
		memcpy(p->expected, expected, length);
	return p;
}
