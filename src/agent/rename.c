/* SPDX-License-Identifier: MIT */
/* Notes in a thread's slot which names it gives itself, and when: after libc's prctl(PR_SET_NAME),
 * which is intercepted (libc_calls.S), and before a prctl that an event reports (tasks.c). Any
 * thread calls, also a child of vfork, which notes nothing in its parent's block. Nothing here
 * fails: a name that is not noted the tracer finds in /proc, later. */
#include "agent/rename.h"

#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/sys.h"

/* A signal handler that renames the thread in between gets the next place. The number goes to 0
 * first, so that read_name() (collect/renames.c), which reads it before and after the name, throws
 * away what was half written. */
static void note_name(struct memory_thread *slot, const char *comm)
{
	uint32_t n = __atomic_fetch_add(&slot->renames, 1, __ATOMIC_RELAXED);
	struct memory_name *to = &slot->names[n % MEMORY_NAMES];

	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	/* Keeps the 0 before what follows, which a release store would not. Pairs with the acquire
	 * fence in read_name(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->tsc = agent_tsc();
	for (unsigned i = 0; i < TASK_COMM; i++)
		((volatile char *)to->comm)[i] = comm[i];
	/* Pairs with the acquire in read_name(). */
	__atomic_store_n(&to->number, n + 1, __ATOMIC_RELEASE);
}

void rename_note(const char *comm)
{
	struct agent_tls *t;
	struct memory_thread *slot;

	if (!agent.memory || !agent_fork_guard[0] || agent_forbids(NEED_THREADS))
		return;
	t = agent_tls_block();
	slot = agent_thread_slot(t);
	/* In a child of vfork the block, and so the slot, is the parent's. */
	if (slot && agent_own[slot - agent.threads].tid == (uint32_t)sys0(__NR_gettid))
		note_name(slot, comm);
}

void rename_done(void)
{
	char comm[TASK_COMM];

	if (agent_forbids(NEED_THREADS) || sys2(__NR_prctl, PR_GET_NAME, comm) < 0)
		return;
	rename_note(comm);
}

uint64_t agent_name_coming(const struct call_registers *r, struct call_plan *p)
{
	*p = libc_call_as_it_is(r);
	p->name = 1;
	return 0;
}
