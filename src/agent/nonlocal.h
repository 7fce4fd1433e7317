/* SPDX-License-Identifier: MIT */
/* Functions that leave their stack otherwise than by returning (nonlocal.c). On the thread that
 * does. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/memory.h"
#include "shared/nonlocal.h"
#include "shared/tls.h"

/* nonlocal.c */
static inline uint64_t nonlocal_function(const struct nonlocal_info *about)
{
	return (uint64_t)(about + 1) + (uint64_t)(int64_t)about->from;
}
/* The id word without what only these functions have in it. */
static inline uint32_t nonlocal_id_word(const struct nonlocal_info *about)
{
	return about->id_word & ~(RETURNED_MASK | NONLOCAL_MASK << NONLOCAL_SHIFT);
}
/* Entry of a function that may leave its stack. Returns its stub, or 0: its return is not
 * followed. sp: stack address of the return address. */
uint64_t agent_nonlocal(const uint64_t *sp, const struct nonlocal_info *about);
/* Records what such a call is about to do. followed: its return has a stub. */
void nonlocal_tell(struct agent_tls *t, const struct nonlocal_info *about, const uint64_t *sp,
		   bool followed);
/* The stack pointer with which the thread goes on; 0: not known. sp as above. */
uint64_t nonlocal_target(const struct nonlocal_info *about, const uint64_t *sp);
/* Takes the position back into reach; true: the next record has to tell where it was made. */
bool nonlocal_disarm(struct agent_tls *t);
/* Call before a record of the slow path is written, in a thread that was armed or has just begun.
 * Returns true if it is to be armed again afterwards. Signals blocked, as for nonlocal_rearm(). */
bool nonlocal_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp);
/* Puts the thread's position out of reach, so that its next record takes the slow path. */
void nonlocal_rearm(struct agent_tls *t);
