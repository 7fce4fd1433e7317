/* SPDX-License-Identifier: MIT */
/* A thread whose vfork child runs lends it its thread-local block: the two have one thread pointer. lend.c keeps
 * a block for each of them, by thread id. No function here allocates, and all may run in the child. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The calling thread is about to make a child that may have its memory. slot: where the return address of the function stands
 * that makes it. Does nothing where blocks belong to thread ids anyway (far.c). */
void lend_begin(uint64_t slot);
/* The calling thread enters or leaves a call whose return address stands, or stood, at `slot`: a lender above its
 * lend_begin, or whose child has been seen, has its block again. What agent_tls_block() said before is no longer true. True: the
 * block was lent, and positions reserved in thread-local memory are small numbers, and no places. */
extern uint32_t lend_lenders;
bool lend_settle_lent(uint64_t slot);
static inline bool lend_settle(uint64_t slot)
{
	return __atomic_load_n(&lend_lenders, __ATOMIC_RELAXED) && lend_settle_lent(slot);
}
/* The thread that waits for this one, if it is a vfork's child; else 0. */
uint32_t lend_lender(void);
/* All threads stand still, none of them in the agent: trampolines were changed; or the session ends. */
void lend_forget_code(void);
void lend_forget(void);
