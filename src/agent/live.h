/* SPDX-License-Identifier: MIT */
/* The live calls of a thread, in state mode: a stack from t->stack_base, keyed by where the return addresses stand.
 *
 * A signal handler may run at any instruction here, make calls, and never return. So one word, t->live, says how many
 * calls there are. A new call is filled in above them and is there when the word counts it; a call that is over stays as it
 * is until the word counts it no more. The word's upper bits count its changes: a handler that came since the word was read
 * has changed it, though all of its calls be over, and may have overwritten what had been filled in. The exchange
 * then fails, and all is done again with signals blocked: a storm of signals holds nobody up.
 *
 * top_sp and depth repeat what stands in the innermost call, for the trampolines, which leave out what is deeper than
 * allowed. While the word changes, depth is 0, and trampolines ask. Nothing here reads the two. */
#pragma once
#include "agent/agent.h"
#include "shared/points.h"

struct call_state {
	uint64_t sp;       /* where the return address stood */
	uint64_t tsc;      /* of the entry */
	uint64_t function;
	uint64_t depth;    /* in calls, from 1; each tail call goes one deeper */
};

#define LIVE_MAX (AGENT_STACK_BYTES / sizeof(struct call_state)) /* calls in a stack; stack_base stands for none */
_Static_assert((LIVE_MAX & (LIVE_MAX - 1)) == 0, "the calls have the low bits of the word");

/* A thread's word, taken apart, at one moment. */
struct live {
	uint64_t word, calls;
	struct call_state *top; /* the innermost call; all zero if there is none */
	bool full;              /* no room for another: the stack ends, or there is no stack */
};

/* A block without a stack is not ready yet, or it is a child's: a fork in a handler left it empty (far.c). */
static inline struct live live_look(const struct agent_tls *t)
{
	static struct call_state none;
	struct call_state *base = (struct call_state *)__atomic_load_n(&t->stack_base, __ATOMIC_RELAXED);
	uint64_t word = __atomic_load_n(&t->live, __ATOMIC_RELAXED), calls = word & (LIVE_MAX - 1);

	if (!base)
		return (struct live){ word, 0, &none, true };
	return (struct live){ word, calls, base + calls, calls + 1 == LIVE_MAX };
}

static inline void live_show(struct agent_tls *t, const struct call_state *top)
{
	__atomic_store_n(&t->top_sp, top->sp, __ATOMIC_RELEASE);
	__atomic_store_n(&t->depth, (uint32_t)top->depth, __ATOMIC_RELEASE);
}

/* One call more (1) or less (-1). False: a handler was here, and nothing is changed. No other thread writes to the word: no
 * lock. */
static inline bool live_change(struct agent_tls *t, struct live l, int by)
{
	uint64_t next = l.word + LIVE_MAX + (uint64_t)by;
	bool done;

	t->depth = 0;
	POINT(live_ready);
	__asm__ volatile("cmpxchg %3, %1" : "=@ccz"(done), "+m"(t->live), "+a"(l.word) : "r"(next) : "memory");
	POINT(live_changed);
	if (done)
		live_show(t, l.top + by);
	return done;
}

/* Another stack, in place of the one there was: base is its begin, or 0 for none. Signals blocked. */
static inline void live_move(struct agent_tls *t, uint64_t base, uint64_t word)
{
	t->stack_base = base;
	t->live = word;
	live_show(t, live_look(t).top);
}

/* The word of an empty stack, later than the word `before`. */
static inline uint64_t live_none(uint64_t before)
{
	return (before | (LIVE_MAX - 1)) + 1;
}

/* live.c: the general way of the next three. */
struct live live_forget_again(struct agent_tls *t, uint64_t sp);
bool live_push_again(struct agent_tls *t, const struct call_state *call);
bool live_pop_again(struct agent_tls *t, uint64_t sp, struct call_state *call);

/* Control has left the calls that stood below sp, by a longjmp or an exception: they are taken off. Returns what remains. */
static inline struct live live_forget(struct agent_tls *t, uint64_t sp)
{
	struct live l = live_look(t);

	return !l.calls || l.top->sp >= sp ? l : live_forget_again(t, sp);
}

/* A call begins whose return address stands at sp; l: live_forget(t, sp + 1). False: there is no room for it. */
static inline bool live_push(struct agent_tls *t, struct live l, uint64_t sp, uint64_t tsc, uint64_t function)
{
	const struct call_state call = { sp, tsc, function, l.top->depth + 1 };

	if (l.full)
		return false;
	l.top[1] = call;
	return live_change(t, l, 1) || live_push_again(t, &call);
}

/* The call whose return address stood at sp returns: it is taken off, and what stood below it. False: it was not there.
 * call->depth is its caller's. */
static inline bool live_pop(struct agent_tls *t, uint64_t sp, struct call_state *call)
{
	struct live l = live_look(t);

	if (!l.calls || l.top->sp > sp)
		return false;
	if (l.top->sp == sp) {
		*call = *l.top;
		call->depth = l.top[-1].depth;
		if (live_change(t, l, -1))
			return true;
	}
	return live_pop_again(t, sp, call);
}

/* The innermost call goes on to another function by a tail call. */
static inline void live_deepen(struct agent_tls *t)
{
	struct live l = live_look(t);

	if (!l.calls)
		return;
	l.top->depth++;
	live_show(t, l.top);
}
