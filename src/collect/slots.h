/* SPDX-License-Identifier: MIT */
/* Numbers of threads in a session. The high bits say which session memory a thread's slot is in, the low ones which slot
 * there; behind the last memory are those that no memory has a slot for, but the kernel tells of (switches.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/memory.h"

#define SLOT_BITS 18u
#define SLOTS (1u << SLOT_BITS)        /* in a session memory */
_Static_assert(SLOTS == MEMORY_THREADS_MAX, "the agent has room for so many");
#define MEMORIES_MAX 256u              /* of a session: one for each user */
#define SLOT_FOLLOWED (MEMORIES_MAX << SLOT_BITS) /* the first of the kernel's */

static inline bool slot_is_followed(uint32_t slot) { return slot >= SLOT_FOLLOWED; }
static inline uint32_t slot_memory(uint32_t slot) { return slot >> SLOT_BITS; }
static inline uint32_t slot_within(uint32_t slot) { return slot & (SLOTS - 1); }
