/* SPDX-License-Identifier: MIT */
/* Numbers of threads in a session. A number's high bits tell the source of the thread's records
 * (producer.h), its low bits the thread there. In the first source, the session memories, they tell
 * the memory and the slot there. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/memory.h"

#define SLOT_BITS 18u
#define SLOTS (1u << SLOT_BITS)        /* in one session memory */
_Static_assert(SLOTS == MEMORY_THREADS_MAX, "the agent has room for so many");
#define MEMORIES_MAX 256u              /* in one session: one for each user */
#define PRODUCER_SLOTS (MEMORIES_MAX << SLOT_BITS) /* of one source */
#define PRODUCERS_MAX 8u               /* in one session; the numbers suffice for 64 */
#define PRODUCERS_OWN 2u               /* of them, those that each session has */

/* The parts of a slot number: its source, by the order in which sources were added. */
static inline uint32_t slot_producer(uint32_t slot) { return slot / PRODUCER_SLOTS; }
/* Whether that is a session memory; only then the next two have a meaning. */
static inline bool slot_in_memory(uint32_t slot) { return slot_producer(slot) == 0; }
/* The memory of a slot number, and the slot in that memory. */
static inline uint32_t slot_memory(uint32_t slot) { return slot >> SLOT_BITS; }
static inline uint32_t slot_within(uint32_t slot) { return slot & (SLOTS - 1); }
