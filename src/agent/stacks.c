/* SPDX-License-Identifier: MIT */
/* State mode's stacks of live calls: one for each thread, and one for each stack that a thread
 * has left and may return to (saved_stacks.c). They are listed, because threads end without
 * telling us, and a detach has to unmap them all. A thread-local block may outlive its thread
 * and be another's after the detach, so it says for which session its stack was taken. Any
 * thread, signals blocked; without memory a thread's calls are not recorded. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/live.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/stacks.h"
#include "agent/sys.h"

#define NOTED 8192u /* beyond that many, a stack that is given back is unmapped */
#define UNUSED UINT64_C(1) /* flag in `noted`: free for the next thread */
#define KNOWN_NO_STACK 32u /* agent_tls.known: in its session the thread asked, and got none */
#define ASK_TICKS (UINT64_C(1) << 24) /* some milliseconds */

static uint64_t noted[NOTED];
static uint32_t n_noted, n_unused;
static uint64_t refused_at; /* TSC of the last time that the kernel had no memory for a stack */

static uint32_t known_stacks(void)
{
	/* Pairs with nothing: take_new() counts relaxed, before it writes the entry. The count only
	 * bounds the search; take_unused() pairs with the entries themselves. */
	uint32_t n = __atomic_load_n(&n_noted, __ATOMIC_ACQUIRE);

	return n < NOTED ? n : NOTED;
}

static uint64_t take_unused(void)
{
	for (uint32_t i = 0, n = known_stacks();
	     i < n && __atomic_load_n(&n_unused, __ATOMIC_RELAXED); i++) {
		uint64_t at = __atomic_load_n(&noted[i], __ATOMIC_RELAXED);

		/* Pairs with the releases of the same entry in take_new() and stack_give();
		 * n_noted's acquire in known_stacks() only bounds the search, and an entry may
		 * still be 0. */
		if (at & UNUSED &&
		    __atomic_compare_exchange_n(&noted[i], &at, at & ~UNUSED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&n_unused, 1, __ATOMIC_RELAXED);
			return at & ~UNUSED;
		}
	}
	return 0;
}

static uint64_t take_new(void)
{
	long at = sys6(__NR_mmap, 0, AGENT_STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint32_t i;

	if (at <= 0) {
		__atomic_store_n(&refused_at, agent_tsc(), __ATOMIC_RELAXED);
		return 0;
	}
	i = __atomic_fetch_add(&n_noted, 1, __ATOMIC_RELAXED);
	if (i < NOTED)
		/* Pairs with the exchange in take_unused(). */
		__atomic_store_n(&noted[i], (uint64_t)at, __ATOMIC_RELEASE);
	return (uint64_t)at;
}

bool stack_was_refused(const struct agent_tls *t)
{
	return t->known & KNOWN_NO_STACK && (t->known & ~TLS_KNOWN_MASK) == STACK_SESSION;
}

/* The thread got no stack. Its first time is told. */
static void note_refused(struct agent_tls *t, bool before)
{
	t->known |= KNOWN_NO_STACK;
	if (!before && agent.memory)
		message_process(MESSAGE_NO_STACK);
}

/* Asking takes three system calls, and a thread without a stack would ask at every call. So one
 * that got none asks again when a stack was given back, or after a while. */
static bool asks_later(const struct agent_tls *t)
{
	return stack_was_refused(t) && !__atomic_load_n(&n_unused, __ATOMIC_RELAXED) &&
	       agent_tsc() - __atomic_load_n(&refused_at, __ATOMIC_RELAXED) < ASK_TICKS;
}

bool stack_take(struct agent_tls *t)
{
	uint64_t signals, base;
	bool before;

	if (agent_forbids(NEED_STACKS | NEED_SIGNALS) || asks_later(t))
		return false;
	signals = signals_block();
	if (!stack_is_there(t)) {
		before = stack_was_refused(t);
		t->known = (t->known & TLS_KNOWN_MASK & ~KNOWN_NO_STACK) | STACK_SESSION;
		base = take_unused();
		live_move(t, base ? base : take_new(), live_none(t->live));
		if (!t->stack_base)
			note_refused(t, before);
	}
	signals_restore(signals);
	return t->stack_base != 0;
}

void stack_give(uint64_t base)
{
	for (uint32_t i = 0, n = base ? known_stacks() : 0; i < n; i++)
		if (__atomic_load_n(&noted[i], __ATOMIC_RELAXED) == base) {
			/* Pairs with take_unused(): nothing of the old calls is needed, only that
			 * this thread is done with them. */
			__atomic_store_n(&noted[i], base | UNUSED, __ATOMIC_RELEASE);
			__atomic_fetch_add(&n_unused, 1, __ATOMIC_RELAXED);
			return;
		}
	if (base)
		sys2(__NR_munmap, base, AGENT_STACK_BYTES);
}

/* The kernel mostly maps each stack right below the last one: such runs go with one munmap. */
void stacks_end(void)
{
	for (uint32_t i = 0, n = known_stacks(), next; i < n; i = next) {
		uint64_t low = noted[i] & ~UNUSED;

		for (next = i + 1; next < n && (noted[next] & ~UNUSED) == low - AGENT_STACK_BYTES;
		     next++)
			low -= AGENT_STACK_BYTES;
		sys2(__NR_munmap, low, (uint64_t)(next - i) * AGENT_STACK_BYTES);
	}
	n_noted = n_unused = 0;
}
