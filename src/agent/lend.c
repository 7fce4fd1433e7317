/* SPDX-License-Identifier: MIT */
/* A child of vfork, or of clone with CLONE_VM and CLONE_VFORK, has its parent's thread pointer, and so its agent_tls. While it
 * may be there, that block says TLS_LENT and has no room: every record takes the slow path, and C code finds a block here
 * by the thread id that the kernel tells. The child is a thread of its own, and the parent goes on as it was.
 *
 * Entries of a block are written by threads that have its thread pointer: of these one runs, the others wait for it. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/lend.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define LOANS 256u
#define OUT_OF_REACH (UINT64_C(1) << 62) /* leave.c: pos of a thread whose next record tells where it is made */

struct loan {
	uint64_t own;            /* the block in thread-local memory; 0: a free entry */
	uint64_t slot;           /* of the lender's call, see lend_begin */
	uint32_t tid;
	bool lender;
	struct agent_tls block;  /* of this thread */
};
static struct loan loans[LOANS];
uint32_t lend_lenders;           /* how many; 0: the table is empty */

extern uint32_t agent_far;

static struct agent_tls *own_block(void)
{
	return (struct agent_tls *)(uint64_t)((int64_t)__builtin_thread_pointer() + agent.tls_offset);
}

static uint32_t own_tid(void)
{
	return (uint32_t)sys0(__NR_gettid);
}

static struct loan *next_of(const struct agent_tls *own, struct loan *l)
{
	for (; l < loans + LOANS; l++)
		if (__atomic_load_n(&l->own, __ATOMIC_ACQUIRE) == (uint64_t)own)
			return l;
	return 0;
}

static struct loan *loan_of(const struct agent_tls *own, uint32_t tid)
{
	struct loan *l = next_of(own, loans);

	while (l && l->tid != tid)
		l = next_of(own, l + 1);
	return l;
}

static struct loan *lender_of(const struct agent_tls *own)
{
	struct loan *l = next_of(own, loans);

	while (l && !l->lender)
		l = next_of(own, l + 1);
	return l;
}

/* An entry for this thread, without a block yet. NULL: there is no room. */
static struct loan *claim(const struct agent_tls *own, uint32_t tid, bool lender)
{
	for (struct loan *l = loans; l < loans + LOANS; l++) {
		uint64_t nobody = 0;

		if (!__atomic_compare_exchange_n(&l->own, &nobody, (uint64_t)own, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		l->tid = tid;
		l->lender = lender;
		l->slot = UINT64_MAX;
		l->block = (struct agent_tls){ 0 };
		return l;
	}
	return 0;
}

static void remove_all(const struct agent_tls *own)
{
	for (struct loan *l = next_of(own, loans); l; l = next_of(own, l + 1)) {
		if (l->lender)
			__atomic_fetch_sub(&lend_lenders, 1, __ATOMIC_RELAXED);
		else if (keeps_state())
			stack_give(l->block.stack_base);
		__atomic_store_n(&l->own, 0, __ATOMIC_RELEASE);
	}
}

/* No position is below its end, and no trampoline finds that a call is outside of all graphs by itself. */
static void close_block(struct agent_tls *own)
{
	*own = (struct agent_tls){ .key = own->key, .top_sp = 1, .known = TLS_LENT };
}

static void lend(struct agent_tls *own, uint64_t slot)
{
	uint32_t tid = own_tid();
	struct loan *l = own->known & TLS_LENT ? loan_of(own, tid) : 0;

	if (l) {
		l->slot = slot;
		return;
	}
	if (own->known & TLS_LENT)
		return; /* a child that has recorded nothing */
	remove_all(own); /* of a thread that ended */
	l = claim(own, tid, true);
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

	if (!agent.memory || agent_far || agent.forbidden & NEED_THREADS)
		return;
	signals = signals_block();
	if (signals == SIGNALS_UNTOUCHED)
		return;
	lend(own_block(), slot);
	signals_restore(signals);
}

static void give_back(struct agent_tls *own, const struct loan *lender)
{
	const struct agent_tls block = lender->block;
	uint64_t signals = signals_block();

	remove_all(own);
	*own = block;
	signals_restore(signals);
}

static bool has_children(const struct agent_tls *own)
{
	struct loan *l = next_of(own, loans);

	while (l && l->lender)
		l = next_of(own, l + 1);
	return l != 0;
}

bool lend_settle_lent(uint64_t slot)
{
	struct agent_tls *own;
	const struct loan *l;

	if (agent_far || agent.forbidden & NEED_THREADS)
		return false;
	own = own_block();
	if (!(own->known & TLS_LENT) || !agent_gate[0])
		return false;
	own->pos = 0;
	l = loan_of(own, own_tid());
	if (l && l->lender && (slot >= l->slot || has_children(own)))
		give_back(own, l);
	return true;
}

uint32_t lend_lender(void)
{
	const struct agent_tls *own = agent_far ? 0 : own_block();
	const struct loan *l = own && own->known & TLS_LENT ? lender_of(own) : 0;

	return l && l->tid != own_tid() ? l->tid : 0;
}

/* --- whose block it is ------------------------------------------------------------------------ */

/* A child of fork: nobody is there with whom it would share. It goes on with what its parent had. */
static struct agent_tls *take_back(struct agent_tls *own)
{
	const struct loan *l = lender_of(own);

	*own = l ? l->block : (struct agent_tls){ 0 };
	return own;
}

static struct agent_tls *begin_child(struct agent_tls *own, uint32_t tid, struct loan *lender)
{
	uint64_t signals = signals_block(); /* a handler might claim one too */
	struct loan *l = claim(own, tid, false);

	signals_restore(signals);
	return l ? &l->block : &lender->block;
}

/* From agent_tls_block(), of a block that is lent. */
struct agent_tls *agent_lent_block(struct agent_tls *own)
{
	struct loan *l = lender_of(own);
	uint32_t tid;

	if (!agent_gate[0] || !l)
		return take_back(own);
	if (agent.forbidden & NEED_THREADS)
		return &l->block;
	tid = own_tid();
	if (l->tid == tid)
		return &l->block;
	l = loan_of(own, tid);
	return l ? &l->block : begin_child(own, tid, lender_of(own));
}

/* --- changes ----------------------------------------------------------------------------------- */

void lend_forget_code(void)
{
	for (struct loan *l = loans; l < loans + LOANS; l++)
		if (l->own && l->block.pos >= OUT_OF_REACH)
			l->block.leaving = 0;
}

void lend_forget(void)
{
	for (struct loan *l = loans; l < loans + LOANS; l++)
		l->own = 0;
	lend_lenders = 0;
}
