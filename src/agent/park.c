/* SPDX-License-Identifier: MIT */
/* State mode keeps the live calls of each stack a thread runs on. When a call may leave its stack, that
 * one's are parked under the stack pointer it would come back with, and whoever comes back there, in
 * whatever thread, takes them again. */
#include "agent/live.h"

#define PLACES 1024u
#define PROBES 16u
#define BUSY UINT64_C(1)
#define MIX 0x9e3779b1u

struct parked { uint64_t sp, base, live; };
static struct parked parked[PLACES];

static struct parked *place(uint64_t sp, unsigned probe)
{
	return &parked[((uint32_t)(sp >> 4) * MIX >> 16 ^ probe) % PLACES];
}

/* Changes the key of the first place that has `from`, so that it is ours. */
static struct parked *claim(uint64_t sp, uint64_t from)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct parked *p = place(sp, i);
		uint64_t seen = from;

		if (__atomic_compare_exchange_n(&p->sp, &seen, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return p;
	}
	return 0;
}

/* What it came down to before is over, if it stands there again. Signals blocked, as for the next. */
bool park(struct agent_tls *t, uint64_t sp)
{
	struct parked *p = claim(sp, sp);
	bool again = p != 0;
	uint64_t base;

	if (!p)
		p = claim(sp, 0);
	if (!p)
		return false;
	base = again ? p->base : 0;
	p->base = t->stack_base;
	p->live = t->live;
	live_move(t, base, live_none(t->live));
	__atomic_store_n(&p->sp, sp, __ATOMIC_RELEASE);
	return true;
}

bool unpark(struct agent_tls *t, uint64_t sp)
{
	struct parked *p = claim(sp, sp);
	uint64_t base = t->stack_base;

	if (!p)
		return false;
	live_move(t, p->base, p->live);
	__atomic_store_n(&p->sp, 0, __ATOMIC_RELEASE);
	stack_give(base);
	return true;
}

/* At a detach: no thread is in here. */
void park_forget(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		parked[i].sp = 0;
}
