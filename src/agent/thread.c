/* SPDX-License-Identifier: MIT */
/* Called by buffer.c on the thread itself, with signals blocked. What the session memory says of
 * the thread here is for the tracer; the agent goes by its own account, agent_own. Nothing
 * fails: a thread without a slot records nothing, and what it would have recorded is counted as
 * lost. */
#include "agent/thread.h"

#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/lock_points.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "shared/points.h"

struct own_thread agent_own[MEMORY_THREADS_MAX];

uint32_t thread_cpu(void)
{
	uint32_t cpu = 0;

	if (!(agent.flags & AGENT_KEY_IS_TID) && thread_read_key(&cpu))
		return cpu;
	if (!agent_forbids(NEED_CPU))
		sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

void thread_start(struct agent_tls *t)
{
	struct memory_header *m = agent.memory;
	struct memory_thread *slot;
	uint32_t i;

	POINT(thread_counted);
	lock_rows_forget(t);
	t->known |= TLS_THREAD;
	t->buffer = MEMORY_NONE;
	t->pos = t->end = 0;
	t->thread = 0;
	if (agent_forbids(NEED_THREADS))
		return;
	i = __atomic_fetch_add(&m->threads_used, 1, __ATOMIC_RELAXED);
	if (i >= agent.layout.threads_max) {
		__atomic_fetch_sub(&m->threads_used, 1, __ATOMIC_RELAXED);
		return;
	}
	slot = &agent.threads[i];
	agent_own[i] = (struct own_thread){ (uint64_t)t, (uint32_t)sys0(__NR_getpid),
					    (uint32_t)sys0(__NR_gettid) };
	slot->pid = agent_own[i].pid;
	slot->tid = agent_own[i].tid;
	slot->block = (uint64_t)t;
	slot->image = agent.image_id;
	slot->tsc = agent_tsc();
	slot->oldest = slot->newest = MEMORY_NONE;
	sys2(__NR_prctl, PR_GET_NAME, slot->comm);
	slot->cpu = thread_cpu();
	POINT(thread_described);
	/* The fields above are there first: pairs with the acquire in next_slot() of
	 * session/thread_names.c. */
	__atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
	POINT(thread_ready);
	t->thread = (uint64_t)slot;
}

void thread_forget_buffer(struct agent_tls *t)
{
	lock_rows_forget(t);
	t->pos = t->end = 0;
	t->known &= ~TLS_THREAD;
}
