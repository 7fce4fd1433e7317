/* SPDX-License-Identifier: MIT */
/* Stacks of the agent's own, on which entry.S runs C where a goroutine's stack has no room for it.
 * Called on the recording thread, which has a few hundred bytes of stack. A thread has one at most:
 * a signal's handler runs on Go's signal stack, which is large. A fork's child keeps those marked
 * as taken which other threads had: they are lost to it. With none left, the call is counted as
 * lost. */
#include "agent/agent.h"
#include "agent/state.h"

/* More than any path takes, by far: tests/agent/depth.py measures them. */
#define STACK_BYTES 4096
#define WORDS 4 /* 256 threads at once */

static char stacks[WORDS * 64][STACK_BYTES] __attribute__((aligned(STACK_BYTES)));
static uint64_t taken[WORDS]; /* a bit a stack */

/* Pairs with go_stack_give(): the last user's frames are of no use, so no order is needed beyond
 * that of one location; the acquire keeps this thread's frames behind the taking. */
static bool take_place(uint64_t *word, int bit)
{
	uint64_t mask = UINT64_C(1) << bit;

	return !(__atomic_fetch_or(word, mask, __ATOMIC_ACQUIRE) & mask);
}

uint64_t go_stack_take(void)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t left = ~__atomic_load_n(&taken[i], __ATOMIC_RELAXED);

		for (; left; left &= left - 1) {
			int bit = __builtin_ctzll(left);

			if (take_place(&taken[i], bit))
				return (uint64_t)(stacks[i * 64 + bit] + STACK_BYTES);
		}
	}
	if (agent.memory)
		__atomic_fetch_add(&agent.memory->lost_threadless, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Pairs with the acquire in take_place(): the frames on it are behind us when another thread takes
 * it. */
void go_stack_give(uint64_t top)
{
	uint64_t i = (top - (uint64_t)stacks) / STACK_BYTES - 1;

	__atomic_fetch_and(&taken[i / 64], ~(UINT64_C(1) << i % 64), __ATOMIC_RELEASE);
}
