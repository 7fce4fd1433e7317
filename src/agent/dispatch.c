/* SPDX-License-Identifier: MIT */
/* Programs that dispatch system calls themselves (PR_SET_SYSCALL_USER_DISPATCH, as Wine does): the
 * kernel looks where the instruction stands, and while the thread's selector says so the program's
 * SIGSYS handler gets all calls from outside of one range. The agent's own would come there, and
 * libc's that it does in libc's stead. libc_calls.c brings each such prctl here first, on the
 * calling thread: the agent gives up its system calls for good, in this process, and libc's are
 * made in libc again. Before the first thread has done this none is dispatched, so nobody has to be
 * waited for. Nothing fails. */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/message.h"
#include "agent/needs.h"

#define OFF 0 /* PR_SYS_DISPATCH_OFF; newer kernels have more than one way on */

uint8_t agent_dispatches;

bool dispatch_is_coming(const struct call_registers *r)
{
	return r->number == __NR_prctl && (uint32_t)r->arg0 == PR_SET_SYSCALL_USER_DISPATCH &&
	       r->arg1 != OFF;
}

void dispatch_coming(struct call_plan *p)
{
	p->dispatch = !agent_dispatches;
	if (agent.memory && NEED_ALL & ~agent_forbidden()) {
		p->forbidden = agent_forbidden();
		p->forbids = NEED_ALL;
		if (!agent_forbids(NEED_SIGNALS | NEED_THREADS))
			p->note = message_stopped(__NR_prctl);
		/* Pairs with signals_block(), which reads it once it has counted itself inside; and
		 * with the fetch_or's of seccomp.c, so that no thread loses another's bits. Nobody
		 * inside is waited for: the kernel dispatches the calls of this thread alone. */
		__atomic_fetch_or(&agent.forbidden, NEED_ALL, __ATOMIC_SEQ_CST);
	}
	/* Last: who sees it makes its own prctl without coming here (libc_calls.S), and then
	 * none of the agent's calls may be made. Pairs with the comparison there: x86 keeps the
	 * order. */
	__atomic_store_n(&agent_dispatches, 1, __ATOMIC_RELEASE);
}
