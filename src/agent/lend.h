/* SPDX-License-Identifier: MIT */
/* The block of a thread whose vfork child runs: both have one thread pointer. lend.c keeps a block
 * for each, by thread id. No function here allocates, and all may run in the child. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The calling thread is about to make a child that may share its memory. slot: stack address of the
 * return address of the call that makes it. Does nothing where blocks belong to thread ids anyway
 * (no_tls.c). */
void lend_begin(uint64_t slot);
/* The calling thread enters or leaves a call whose return address stands, or stood, at `slot`. A
 * lender gets its block back if it is above its lend_begin() or if its child has been seen. An
 * earlier result of agent_tls_block() is not valid any more. Returns true if the block was lent:
 * positions reserved in thread-local memory are then small numbers, and no addresses. */
extern uint32_t lend_lenders;
bool lend_look_lent(uint64_t slot);
static inline bool lend_look(uint64_t slot)
{
	return __atomic_load_n(&lend_lenders, __ATOMIC_RELAXED) && lend_look_lent(slot);
}
/* Returns the thread that waits for this one, if this is a vfork's child; else 0. */
uint32_t lend_lender(void);
/* Call while all threads stand still and none is in the agent: lend_forget_code() after trampolines
 * were changed, lend_forget() when the session ends. */
void lend_forget_code(void);
void lend_forget(void);
