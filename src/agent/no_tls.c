/* SPDX-License-Identifier: MIT */
/* Thread blocks of programs that leave no room at a fixed distance from the thread pointer
 * (musl, Go, no libc), or whose threads may have none, or another's (bare clone): a table by
 * thread id, which the kernel tells. It costs a system call a record. Set up by init.c or
 * attach.c before anything is hooked; without memory the process goes on untraced.
 *
 * A program whose C library has room starts without the table. Right before one of its threads
 * makes one that may have no thread pointer, nonlocal.c calls no_tls_starts(). The fork guards
 * are closed, so that every trampoline and stub takes a slow path before it looks at its thread
 * pointer; each thread takes along the block that it had there. There is no way back. */
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/signals.h"
#include "agent/sys.h"
#include "arch/kept_words.h"

#define TIDS (UINT64_C(1) << 22) /* the kernel's own limit */
/* Address space only: MAP_NORESERVE, and pages of ids that nobody has are never touched. */
#define BYTES (TIDS * sizeof(struct agent_tls))

static struct agent_tls *blocks;
uint32_t agent_no_tls, agent_go; /* for entry.S */
uint64_t agent_pointer_guard;

/* Maps the table. False: there is no address space for it, or no way to empty it in children. */
static bool map_blocks(void)
{
	long at = sys6(__NR_mmap, 0, BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at < 0 && at > -4096)
		return false;
	blocks = (struct agent_tls *)at;
	/* A child starts with empty blocks: its threads have other ids, and its parent's
	 * sub-buffers are not its own. */
	return sys3(__NR_madvise, at, BYTES, MADV_WIPEONFORK) == 0;
}

bool no_tls_begin(const struct protocol_setup *w)
{
	agent_no_tls = 0;
	agent.flags |= w->flags & AGENT_NO_TLS;
	agent_go = w->flags & AGENT_GO;
	if (!(agent.flags & AGENT_NO_TLS))
		return true;
	if (!map_blocks())
		return false;
	agent.key = 0;
	agent_no_tls = 1;
	return true;
}

void no_tls_end(void)
{
	if (blocks)
		sys2(__NR_munmap, blocks, BYTES);
	blocks = 0;
}

/* --- a thread that no library sets up -------------------------------------------------------- */

/* The new thread would go on in its maker's block. Without memory for other blocks nothing more is
 * recorded, and that is counted. */
static void leave_thread_pointers(void)
{
	uint64_t signals;

	if (agent_no_tls || !agent.memory)
		return;
	signals = signals_block();
	agent_pointer_guard = inside_pointer_guard();
	if (!map_blocks())
		/* Another thread may install a filter now. Pairs with signals_inside(). */
		__atomic_fetch_or(&agent.forbidden, NEED_SIGNALS | NEED_THREADS, __ATOMIC_SEQ_CST);
	agent.key = 0;
	agent_stamps_in_c = 1;
	/* After the table and agent.key: pairs with the plain loads of agent_no_tls, since a thread
	 * that sees it uses both (x86 keeps the order of stores). Before the fork guards are
	 * closed. */
	__atomic_store_n(&agent_no_tls, 1, __ATOMIC_SEQ_CST);
	mappings_close_fork_guards();
	signals_restore(signals);
}

/* glibc's threads have heads that point to themselves, in two places. */
static bool is_glibcs(uint64_t thread_pointer)
{
	uint64_t head[3];

	return probe_read_kernel(thread_pointer, head, sizeof(head)) == sizeof(head) &&
	       head[0] == thread_pointer && head[2] == thread_pointer;
}

void no_tls_starts(const struct nonlocal_info *about, const uint64_t *sp)
{
	uint64_t flags = sp[KEPT_ARG2], thread_pointer = sp[KEPT_ARG5];

	if (about->size >> NONLOCAL_START_SHIFT == START_BY_CLONE &&
	    (!(flags & CLONE_VM) || flags & CLONE_VFORK ||
	     (flags & CLONE_SETTLS && is_glibcs(thread_pointer))))
		return;
	leave_thread_pointers();
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* True for a block of the table. */
static bool in_table(uint64_t block)
{
	return block - (uint64_t)blocks < BYTES;
}

/* Copies a block that belongs to slot i of this process. Its memory may be gone, with a thread that
 * had the same id. */
static bool read_block(uint32_t i, uint32_t tid, struct agent_tls *to)
{
	const struct own_thread *own = &agent_own[i];

	return own->block && own->tid == tid && own->pid == agent.pid && !in_table(own->block) &&
	       probe_read_kernel(own->block, to, sizeof(*to)) == sizeof(*to) &&
	       to->thread == (uint64_t)&agent.threads[i];
}

/* Fills the thread's block in the table with what the thread had at its thread pointer. The block
 * that stays there has no room, like one that is lent (lend.c). */
static void fill_block(struct agent_tls *t, uint32_t tid)
{
	uint64_t signals = signals_block();
	struct agent_tls there;

	if (signals == SIGNALS_UNTOUCHED)
		return;
	t->known |= TLS_MOVED; /* probe_read_kernel() asks for the block */
	for (uint32_t i = 0; i < agent.layout.threads_max && !(t->known & TLS_THREAD); i++) {
		struct own_thread *own = &agent_own[i];

		if (!read_block(i, tid, &there))
			continue;
		*t = there;
		t->known |= TLS_MOVED;
		*(struct agent_tls *)own->block = (struct agent_tls){ .key = there.key };
		own->block = agent.threads[i].block = (uint64_t)t;
	}
	signals_restore(signals);
}

/* After a detach a stub's return may still ask: the block then leads to the slow path, and no
 * further. */
struct agent_tls *agent_no_tls_block(void)
{
	static struct agent_tls none;
	struct agent_tls *t;
	uint32_t tid;

	if (!blocks || agent_forbids(NEED_THREADS))
		return &none;
	tid = (uint32_t)sys0(__NR_gettid);
	t = &blocks[tid & (TIDS - 1)];
	if (!(t->known & TLS_MOVED) && !(agent.flags & AGENT_NO_TLS))
		fill_block(t, tid);
	return t;
}
