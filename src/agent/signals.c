/* SPDX-License-Identifier: MIT */
/* Blocking of signals around slow paths, and the count of threads that are in one. Called by the
 * slow paths on their own thread. When a filter forbids rt_sigprocmask, signals_block() says so and
 * the record is lost. The order of count and check is what seccomp.c relies on. */
#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/sys.h"

static uint32_t inside;

uint32_t signals_inside(void)
{
	/* Pairs with signals_block(): seccomp.c sets `forbidden` before it reads this. */
	return __atomic_load_n(&inside, __ATOMIC_SEQ_CST);
}

/* Only the thread that forked lives on, and it is in a slow path. */
void signals_after_fork(void)
{
	inside = !agent_forbids(NEED_SIGNALS);
}

uint64_t signals_block(void)
{
	uint64_t all = ~UINT64_C(0), old = 0;

	/* Pairs with signals_inside(). Counted before `forbidden` is read: either this thread sees
	 * what seccomp.c has set, or seccomp.c sees this thread. */
	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&agent.forbidden, __ATOMIC_SEQ_CST) & NEED_SIGNALS) {
		__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
		return SIGNALS_UNTOUCHED;
	}
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(old));
	return old;
}

void signals_restore(uint64_t old)
{
	if (old == SIGNALS_UNTOUCHED)
		return;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &old, 0, sizeof(old));
	/* Pairs with signals_inside(). After the call: from here on the thread makes none that
	 * could be forbidden. */
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}
