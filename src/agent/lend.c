/* SPDX-License-Identifier: MIT */
/* Blocks of vfork children. A child of vfork, or of clone with CLONE_VM | CLONE_VFORK, has its
 * parent's thread pointer, and so its agent_tls. While there may be one, that block says TLS_LENT
 * and has no room: every record takes the slow path, and C code finds a block here by the thread id
 * that the kernel tells. The child is recorded as a thread of its own; the parent then goes on as
 * before.
 *
 * No lock: entries of a block are written by threads that have its thread pointer, of which only
 * one runs; the kernel makes the others wait. If all BORROWED_BLOCKS entries are taken, the child
 * records into its lender's block. Nothing fails. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/lend.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/signals.h"
#include "agent/stacks.h"
#include "agent/state.h"
#include "agent/sys.h"

#define BORROWED_BLOCKS 256u
/* nonlocal.c: pos of a thread whose next record tells where it was made. */
#define OUT_OF_REACH (UINT64_C(1) << 62)

struct borrowed_block {
	uint64_t own; /* the block in thread-local memory, which is the key; 0: a free entry */
	/* A lender's: stack address of its call's return address, see lend_begin(). */
	uint64_t slot;
	uint32_t tid;
	bool lender;
	struct agent_tls block;  /* the state of this thread */
};
static struct borrowed_block borrowed_blocks[BORROWED_BLOCKS];
/* Number of lenders; 0: the table is empty, and lend_look() costs one load. */
uint32_t lend_lenders;

/* Returns the block at the thread pointer, which a vfork child shares with its parent. */
static struct agent_tls *own_block(void)
{
	return (struct agent_tls *)(uint64_t)((int64_t)__builtin_thread_pointer() +
					      agent.tls_offset);
}

static uint32_t own_tid(void)
{
	return (uint32_t)sys0(__NR_gettid);
}

/* Returns the next entry of the block, from l on; NULL: there is no more. */
static struct borrowed_block *next_of(const struct agent_tls *own, struct borrowed_block *l)
{
	for (; l < borrowed_blocks + BORROWED_BLOCKS; l++)
		/* Pairs with the exchange in claim_block(), which publishes no fields: those are of
		 * threads that do not run meanwhile. */
		if (__atomic_load_n(&l->own, __ATOMIC_ACQUIRE) == (uint64_t)own)
			return l;
	return 0;
}

static struct borrowed_block *borrowed_block_of(const struct agent_tls *own, uint32_t tid)
{
	struct borrowed_block *l = next_of(own, borrowed_blocks);

	while (l && l->tid != tid)
		l = next_of(own, l + 1);
	return l;
}

/* Returns the lender's entry of the block; NULL: nobody has lent it. */
static struct borrowed_block *lender_of(const struct agent_tls *own)
{
	struct borrowed_block *l = next_of(own, borrowed_blocks);

	while (l && !l->lender)
		l = next_of(own, l + 1);
	return l;
}

/* Claims an entry for this thread, without a block yet. NULL: there is no room. */
static struct borrowed_block *claim_block(const struct agent_tls *own, uint32_t tid, bool lender)
{
	for (struct borrowed_block *l = borrowed_blocks; l < borrowed_blocks + BORROWED_BLOCKS;
	     l++) {
		uint64_t nobody = 0;

		/* Other blocks' threads claim at the same time; the acquire pairs with the release
		 * in remove_all(). */
		if (!__atomic_compare_exchange_n(&l->own, &nobody, (uint64_t)own, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		l->tid = tid;
		l->lender = lender;
		l->slot = UINT64_MAX;
		l->block = (struct agent_tls){ 0 };
		return l;
	}
	return 0;
}

/* Frees all entries of the block. */
static void remove_all(const struct agent_tls *own)
{
	for (struct borrowed_block *l = next_of(own, borrowed_blocks); l; l = next_of(own, l + 1)) {
		if (l->lender)
			__atomic_fetch_sub(&lend_lenders, 1, __ATOMIC_RELAXED);
		else if (state_is_kept())
			stack_give(l->block.stack_base);
		/* Pairs with the exchange that claims an entry, which may follow at once: the
		 * fields have been read. */
		__atomic_store_n(&l->own, 0, __ATOMIC_RELEASE);
	}
}

/* Makes the block unusable: no position is below its end, and no trampoline decides by itself that
 * a call is outside of all graphs. */
static void close_block(struct agent_tls *own)
{
	*own = (struct agent_tls){ .key = own->key, .top_sp = 1, .known = TLS_LENT };
}

/* Enters the calling thread as the block's lender, and closes the block. */
static void lend_block(struct agent_tls *own, uint64_t slot)
{
	uint32_t tid = own_tid();
	struct borrowed_block *l = own->known & TLS_LENT ? borrowed_block_of(own, tid) : 0;

	if (l) {
		l->slot = slot;
		return;
	}
	if (own->known & TLS_LENT)
		return; /* a child that has recorded nothing */
	remove_all(own); /* entries of a thread that ended, and had this block */
	l = claim_block(own, tid, true);
	if (!l)
		return;
	l->slot = slot;
	l->block = *own;
	__atomic_fetch_add(&lend_lenders, 1, __ATOMIC_RELAXED);
	close_block(own);
}

void lend_begin(uint64_t slot)
{
	uint64_t signals;

	if (!agent.memory || agent_no_tls || agent_forbids(NEED_THREADS))
		return;
	signals = signals_block();
	if (signals == SIGNALS_UNTOUCHED)
		return;
	lend_block(own_block(), slot);
	signals_restore(signals);
}

/* Gives the block back to its lender, with all that the lender had in it. */
static void return_block(struct agent_tls *own, const struct borrowed_block *lender)
{
	const struct agent_tls block = lender->block;
	uint64_t signals = signals_block();

	remove_all(own);
	*own = block;
	signals_restore(signals);
}

/* True if a child that borrowed the block has recorded something. */
static bool has_children(const struct agent_tls *own)
{
	struct borrowed_block *l = next_of(own, borrowed_blocks);

	while (l && l->lender)
		l = next_of(own, l + 1);
	return l != 0;
}

bool lend_look_lent(uint64_t slot)
{
	struct agent_tls *own;
	const struct borrowed_block *l;

	if (agent_no_tls || agent_forbids(NEED_THREADS))
		return false;
	own = own_block();
	if (!(own->known & TLS_LENT) || !agent_fork_guard[0])
		return false;
	own->pos = 0;
	l = borrowed_block_of(own, own_tid());
	/* The lender has it back if it is above the call that lent it, or if a child has been seen:
	 * it could not run before that one ended. */
	if (l && l->lender && (slot >= l->slot || has_children(own)))
		return_block(own, l);
	return true;
}

uint32_t lend_lender(void)
{
	const struct agent_tls *own = agent_no_tls ? 0 : own_block();
	const struct borrowed_block *l = own && own->known & TLS_LENT ? lender_of(own) : 0;

	return l && l->tid != own_tid() ? l->tid : 0;
}

/* --- whose block it is ------------------------------------------------------------------------ */

/* A child of fork: there is no other thread that shares its block. It goes on with a copy of its
 * parent's. */
static struct agent_tls *take_back(struct agent_tls *own)
{
	const struct borrowed_block *l = lender_of(own);

	*own = l ? l->block : (struct agent_tls){ 0 };
	return own;
}

/* Returns a block for a child's first record; without a free entry the lender's. */
static struct agent_tls *begin_child(struct agent_tls *own, uint32_t tid,
				     struct borrowed_block *lender)
{
	uint64_t signals = signals_block(); /* a handler might claim an entry, too */
	struct borrowed_block *l = claim_block(own, tid, false);

	signals_restore(signals);
	return l ? &l->block : &lender->block;
}

/* The slow half of agent_tls_block(), for a block that is lent. */
struct agent_tls *agent_lent_block(struct agent_tls *own)
{
	struct borrowed_block *l = lender_of(own);
	uint32_t tid;

	if (!agent_fork_guard[0] || !l)
		return take_back(own);
	if (agent_forbids(NEED_THREADS))
		return &l->block;
	tid = own_tid();
	if (l->tid == tid)
		return &l->block;
	l = borrowed_block_of(own, tid);
	return l ? &l->block : begin_child(own, tid, lender_of(own));
}

/* --- changes ---------------------------------------------------------------------------------- */

void lend_forget_code(void)
{
	for (struct borrowed_block *l = borrowed_blocks; l < borrowed_blocks + BORROWED_BLOCKS; l++)
		if (l->own && l->block.pos >= OUT_OF_REACH)
			l->block.leaving = 0;
}

void lend_forget(void)
{
	for (struct borrowed_block *l = borrowed_blocks; l < borrowed_blocks + BORROWED_BLOCKS; l++)
		l->own = 0;
	lend_lenders = 0;
}
