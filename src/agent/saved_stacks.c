/* SPDX-License-Identifier: MIT */
/* State mode keeps live calls for each stack that a thread runs on. When a call may leave its stack
 * (a coroutine switch), that stack's calls are saved under the stack pointer that a return would
 * have; the thread that returns there, which may be another one, takes them again. A table shared
 * by all threads without a lock: an entry is claimed by its key. If none is free, the calls are
 * not saved, and the report may misnest. Signals blocked. */
#include "agent/live.h"
#include "agent/stacks.h"

#define SAVED_MOST 1024u
#define PROBES 16u
/* A key that no stack pointer equals: the entry is being changed. */
#define BUSY UINT64_C(1)
#define MIX 0x9e3779b1u

struct saved_stack { uint64_t sp, base, live; };
static struct saved_stack saved_stack[SAVED_MOST];

static struct saved_stack *entry_at(uint64_t sp, unsigned probe)
{
	return &saved_stack[((uint32_t)(sp >> 4) * MIX >> 16 ^ probe) % SAVED_MOST];
}

/* Claims the first entry whose key is `from`. NULL: there is none. */
static struct saved_stack *claim_entry(uint64_t sp, uint64_t from)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct saved_stack *p = entry_at(sp, i);
		uint64_t seen = from;

		/* Pairs with the releases in saved_stack_put() and saved_stack_take(): base and
		 * live are those stored before the key. */
		if (__atomic_compare_exchange_n(&p->sp, &seen, BUSY, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return p;
	}
	return 0;
}

/* If this stack pointer is saved already, that stack's calls are over, and its memory is reused.
 * Signals blocked, as in saved_stack_take(). */
bool saved_stack_put(struct agent_tls *t, uint64_t sp)
{
	struct saved_stack *p = claim_entry(sp, sp);
	bool again = p != 0;
	uint64_t base;

	if (!p)
		p = claim_entry(sp, 0);
	if (!p)
		return false;
	base = again ? p->base : 0;
	p->base = t->stack_base;
	p->live = t->live;
	live_move(t, base, live_none(t->live));
	/* Pairs with the acquire of the key in claim_entry(). The key last: another thread may
	 * restore the stack at once. */
	__atomic_store_n(&p->sp, sp, __ATOMIC_RELEASE);
	return true;
}

bool saved_stack_take(struct agent_tls *t, uint64_t sp)
{
	struct saved_stack *p = claim_entry(sp, sp);
	uint64_t base = t->stack_base;

	if (!p)
		return false;
	live_move(t, p->base, p->live);
	/* Pairs with claim_entry(): base and live have been read. */
	__atomic_store_n(&p->sp, 0, __ATOMIC_RELEASE);
	stack_give(base);
	return true;
}

/* At a detach: no thread is in here. */
void saved_stacks_forget(void)
{
	for (unsigned i = 0; i < SAVED_MOST; i++)
		saved_stack[i].sp = 0;
}
