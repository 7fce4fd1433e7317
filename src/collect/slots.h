/* SPDX-License-Identifier: MIT */
/* Numbers of threads in a session. A number's high bits tell the session memory, its low bits the
 * slot there. Behind the last memory's come threads that have a slot in none, but of which the
 * kernel tells (switches.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/memory.h"

#define SLOT_BITS 18u
#define SLOTS (1u << SLOT_BITS)        /* in one session memory */
_Static_assert(SLOTS == MEMORY_THREADS_MAX, "the agent has room for so many");
#define MEMORIES_MAX 256u              /* in one session: one for each user */
#define SLOT_FOLLOWED (MEMORIES_MAX << SLOT_BITS) /* the first number of the kernel's threads */

static inline bool slot_is_followed(uint32_t slot) { return slot >= SLOT_FOLLOWED; }
static inline uint32_t slot_memory(uint32_t slot) { return slot >> SLOT_BITS; }
static inline uint32_t slot_within(uint32_t slot) { return slot & (SLOTS - 1); }
