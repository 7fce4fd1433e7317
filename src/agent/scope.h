/* SPDX-License-Identifier: MIT */
/* Scopes of events: whether a call of one of a scope's functions is open. On the thread whose event
 * it is, at any instruction of the program. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool scope_look(uint32_t scopes, uint64_t sp);

/* Whether an event of these scopes (bits; 0: it has none) is to be recorded at this stack pointer.
 * Costs a test for an event without. */
static inline bool scope_is_open(uint32_t scopes, uint64_t sp)
{
	return !scopes || scope_look(scopes, sp);
}
