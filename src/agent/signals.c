/* SPDX-License-Identifier: MIT */
#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"

static uint32_t inside;

uint32_t signals_inside(void)
{
	return __atomic_load_n(&inside, __ATOMIC_SEQ_CST);
}

void signals_after_fork(void)
{
	inside = !(agent.forbidden & NEED_SIGNALS);
}

uint64_t signals_block(void)
{
	uint64_t all = ~UINT64_C(0), old = 0;

	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	if (agent.forbidden & NEED_SIGNALS) {
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
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}
