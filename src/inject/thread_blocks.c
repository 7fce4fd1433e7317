/* SPDX-License-Identifier: MIT */
/* Called by attach.c, detach.c and change.c, in a holder, with every thread stopped. Thread memory
 * that cannot be read or written is left out: that thread's records begin later. shared/tls.h
 * describes the block. */
#include "inject/thread_blocks.h"

#include <string.h>

#include "arch/tcb.h"
#include "shared/tls.h"
#include "tracee/proc_status.h"

/* The thread's id as its own process sees it: in a container it differs. */
static pid_t inner_tid(pid_t tid)
{
	struct proc_status s;

	return proc_status_read(tid, &s) == 0 && s.inner ? s.inner : tid;
}

/* Whether the thread's control block is glibc's, and the free bytes are still zeros. */
static bool is_glibc(struct tracee *t, size_t i)
{
	uint64_t pointer = regs_thread_pointer(tracee_regs(t, i)), head[TCB_TID / 8 + 1];
	struct err err;

	/* The bytes may be another library's: then they are not all 0. */
	static const uint8_t none[sizeof(struct agent_tls)];

	return pointer && tracee_read(t, pointer, head, sizeof(head), &err) == 0 &&
	       head[0] == pointer && head[TCB_SELF / 8] == pointer &&
	       head[TCB_MULTIPLE / 8] <= 1 &&
	       memcmp(&head[TCB_FREE / 8], none, sizeof(none)) == 0 &&
	       (uint32_t)head[TCB_TID / 8] ==
		       (uint32_t)inner_tid(tracee_tid(t, i));
}

/* Whether the thread pointer does not point to itself, as C libraries' do: the program set it up on
 * its own. */
static bool is_of_its_own_making(struct tracee *t, size_t i)
{
	uint64_t pointer = regs_thread_pointer(tracee_regs(t, i)), word;
	struct err err;

	return pointer && tracee_read(t, pointer - 8, &word, sizeof(word), &err) == 0 &&
	       (tracee_read(t, pointer, &word, sizeof(word), &err) < 0 || word != pointer);
}

struct thread_layout thread_layout_of(struct tracee *t)
{
	const struct thread_layout glibc = { TCB_FREE, TCB_TID, AGENT_KEY_IS_TID | AGENT_BY_HAND };
	struct thread_layout no_tls = { 0, 0, AGENT_NO_TLS | AGENT_BY_HAND | AGENT_GO };
	bool all_glibc = true;

	for (size_t i = 0; i < tracee_threads(t); i++) {
		all_glibc &= is_glibc(t, i);
		if (!is_of_its_own_making(t, i))
			no_tls.flags &= ~AGENT_GO;
	}
	/* One thread that looks different is enough: then some other C library is there. */
	return all_glibc ? glibc : no_tls;
}

void thread_blocks_clear(struct tracee *t, const struct thread_layout *l)
{
	static const struct agent_tls none;

	for (size_t i = 0; i < tracee_threads(t) && !(l->flags & AGENT_NO_TLS); i++) {
		uint64_t pointer = regs_thread_pointer(tracee_regs(t, i));
		struct err err;

		if (pointer)
			tracee_write(t, pointer + (uint64_t)l->tls, &none, sizeof(none), &err);
	}
}

/* agent/nonlocal.c: pos of a thread that has to say where it goes on */
#define OUT_OF_REACH (UINT64_C(1) << 62)

static void renew_block(struct agent_tls *block)
{
	if (block->pos >= OUT_OF_REACH)
		/* Back to a valid position: the agent's own arithmetic begins there. */
		block->pos = block->end - block->room;
	block->depth = 0;
	block->top_sp = 0;
	block->live = 0;
	block->known &= TLS_THREAD | ~TLS_KNOWN_MASK;
}

static void forget_code(struct agent_tls *block)
{
	if (block->pos >= OUT_OF_REACH)
		block->leaving = 0;
}

void thread_blocks_change(struct tracee *t, const struct thread_layout *l, bool other_tracer)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		uint64_t pointer = regs_thread_pointer(tracee_regs(t, i)),
			 at = pointer + (uint64_t)l->tls;
		struct agent_tls block;
		struct err err;

		if (l->flags & AGENT_NO_TLS || !pointer ||
		    tracee_read(t, at, &block, sizeof(block), &err) < 0)
			continue;
		(other_tracer ? renew_block : forget_code)(&block);
		tracee_write(t, at, &block, sizeof(block), &err);
	}
}
