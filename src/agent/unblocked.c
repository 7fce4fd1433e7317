/* SPDX-License-Identifier: MIT */
/* Counts threads that make a system call outside of a slow path: copies of memory for probes and
 * filters, a thread's id or name, the CPU. They do not block signals, which would cost two more
 * calls; so a handler may come between, which may never return, fork, or install a filter itself.
 * Called by who makes such a call, and by seccomp.c. The order of count and check is that of
 * signals.c. */
#include "agent/unblocked.h"

#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/sys.h"

#define SLOTS 64u /* a power of two */
#define SLOT_SHIFT 58 /* of a hash of 64 bits */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define COUNT_SHIFT 48 /* of a slot's word: above it the count, below it the sum of numbers */
#define NUMBERS ((UINT64_C(1) << COUNT_SHIFT) - 1)

/* A cache line each: threads that copy at once do not wait for each other's counts. A slot has how
 * many of its threads are inside, and the sum of these threads' numbers: so one of them knows
 * whether that is itself alone. */
static struct { _Alignas(64) uint64_t word; } inside[SLOTS];

/* By the thread pointer: known also in a handler on another stack, so that a thread does not wait
 * for itself. 42 bits: the sum has room for 64. 0 where there is no thread pointer: then nobody is
 * waited for. */
static uint64_t own_number(void)
{
	return agent_no_tls ? 0 : (uint64_t)__builtin_thread_pointer() << 16 >> 22;
}

static uint64_t *slot_of(uint64_t number)
{
	return &inside[number * GOLDEN >> SLOT_SHIFT].word;
}

bool unblocked_begin(uint32_t needs)
{
	const uint64_t number = own_number(), one = (UINT64_C(1) << COUNT_SHIFT) + number;

	/* Looked at first, so that a thread which may not is not counted even for a moment: a
	 * waiting thread would see one of many such again and again. */
	if (agent_forbids(needs))
		return false;
	/* Pairs with unblocked_others(). Counted before `forbidden` is read again: either this
	 * thread sees what seccomp.c has set, or seccomp.c sees this thread. */
	__atomic_fetch_add(slot_of(number), one, __ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(&agent.forbidden, __ATOMIC_SEQ_CST) & needs))
		return true;
	__atomic_fetch_sub(slot_of(number), one, __ATOMIC_SEQ_CST);
	return false;
}

void unblocked_end(void)
{
	const uint64_t number = own_number();

	/* Pairs with unblocked_others(): a thread that finds no call inside knows this one's to be
	 * over. */
	__atomic_fetch_sub(slot_of(number), (UINT64_C(1) << COUNT_SHIFT) + number,
			   __ATOMIC_SEQ_CST);
}

int32_t unblocked_call0(long number)
{
	long id;

	if (!unblocked_begin(number == __NR_getppid ? NEED_TASKS : NEED_THREADS))
		return 0;
	id = sys0(number);
	unblocked_end();
	return (int32_t)id;
}

bool unblocked_others(void)
{
	const uint64_t number = own_number();

	for (uint32_t i = 0; i < SLOTS; i++) {
		/* Pairs with unblocked_begin(): seccomp.c sets `forbidden` before it reads these.
		 */
		const uint64_t word = __atomic_load_n(&inside[i].word, __ATOMIC_SEQ_CST);
		const int64_t n = (int64_t)word >> COUNT_SHIFT;

		/* Less than 0: unblocked_forget() came while a call was under way, and the call
		 * has ended since. */
		if (n > 0 && (word & NUMBERS) != (((uint64_t)n * number) & NUMBERS))
			return true;
	}
	return false;
}

void unblocked_forget(void)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		__atomic_store_n(&inside[i].word, 0, __ATOMIC_RELAXED);
}
