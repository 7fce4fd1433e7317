/* SPDX-License-Identifier: MIT */
/* The live calls of a thread, in state mode: a stack from t->stack_base, keyed by the stack
 * addresses of return addresses. Only the thread itself touches it.
 *
 * A signal handler may run at any instruction here, make calls, and never return. So one word,
 * t->live, holds the number of calls. A new call is filled in above them and exists when the word
 * counts it; a finished call stays unchanged until the word stops counting it. The word's upper
 * bits count its changes: a handler that ran since the word was read has changed it, even if all of
 * its calls are over, and may have overwritten a call that was being filled in. The exchange then
 * fails, and all is done again with signals blocked, so a storm of signals cannot hold a thread up.
 *
 * top_sp and depth repeat the innermost call's, for trampolines that leave out deeper calls than
 * allowed. While the word changes, depth is 0, and trampolines ask. Nothing here reads the two. */
#pragma once
#include "agent/agent.h"
#include "arch/inside.h"
#include "shared/points.h"

struct call_state {
	uint64_t sp;       /* stack address of the return address */
	uint64_t tsc;      /* of the entry; LIVE_UNFOLLOWED: the return address */
	uint64_t function;
	uint32_t depth;    /* in recorded calls, from 1; each tail call goes one deeper */
	/* Scopes of events (scope.h), a bit each: those that this call opens; all that are open in
	 * it. */
	uint8_t scopes, open;
	uint16_t pad;
};
_Static_assert(sizeof(struct call_state) == 32, "a power of two of them fills a stack");

/* Value of `function`: a call whose return is not followed. Trampolines do not decide by its depth,
 * since it may be over. */
#define LIVE_UNFOLLOWED (UINT64_MAX - 1)
/* Value of `function`: a call that is followed, and not recorded. It is no level of depth. */
#define LIVE_SILENT UINT64_MAX
/* Calls; stack_base stands for none. */
#define LIVE_MAX (AGENT_STACK_BYTES / sizeof(struct call_state))
_Static_assert((LIVE_MAX & (LIVE_MAX - 1)) == 0, "the calls have the low bits of the word");

/* One reading of a thread's word, taken apart. */
struct live_calls {
	uint64_t word, calls;
	struct call_state *top; /* the innermost call; all zero if there is none */
	bool full;              /* no room for another: the stack ends, or there is no stack */
};

/* A block without a stack is not ready yet, or is a child's: a fork in a handler left it empty
 * (no_tls.c). */
static inline struct live_calls live_look(const struct agent_tls *t)
{
	static struct call_state none;
	struct call_state *base =
		(struct call_state *)__atomic_load_n(&t->stack_base, __ATOMIC_RELAXED);
	uint64_t word = __atomic_load_n(&t->live, __ATOMIC_RELAXED), calls = word & (LIVE_MAX - 1);

	if (!base)
		return (struct live_calls){ word, 0, &none, true };
	return (struct live_calls){ word, calls, base + calls, calls + 1 == LIVE_MAX };
}

/* Both have only this thread's trampolines and handlers for readers: the releases pair with their
 * plain loads, which x86 keeps in order, and keep the stores after the exchange and in their order.
 * depth comes last: it is what lets trampolines decide by themselves. */
static inline void live_show(struct agent_tls *t, const struct call_state *top)
{
	__atomic_store_n(&t->top_sp, top->sp, __ATOMIC_RELEASE);
	__atomic_store_n(&t->depth, top->function == LIVE_UNFOLLOWED ? 0 : top->depth,
			 __ATOMIC_RELEASE);
}

/* Counts one live call more (by 1) or less (-1). False: a handler has run, and nothing is changed.
 * The exchange is one for this thread alone, because no other writes to the word. */
static inline bool live_change(struct agent_tls *t, struct live_calls l, int by)
{
	uint64_t next = l.word + LIVE_MAX + (uint64_t)by;
	bool done;

	t->depth = 0;
	POINT(live_ready);
	done = inside_exchange(&t->live, l.word, next);
	POINT(live_changed);
	if (done)
		live_show(t, l.top + by);
	return done;
}

/* Replaces the stack; base is the begin of the new one, or 0 for none. Signals blocked. */
static inline void live_move(struct agent_tls *t, uint64_t base, uint64_t word)
{
	t->stack_base = base;
	t->live = word;
	live_show(t, live_look(t).top);
}

/* Returns the word of an empty stack that counts as later than the word `before`. */
static inline uint64_t live_none(uint64_t before)
{
	return (before | (LIVE_MAX - 1)) + 1;
}

/* live.c. The general cases of the next three functions. */
struct live_calls live_forget_again(struct agent_tls *t, uint64_t sp);
bool live_push_again(struct agent_tls *t, const struct call_state *call);
bool live_pop_again(struct agent_tls *t, uint64_t sp, struct call_state *call);

/* Control has left the calls below sp, by a longjmp or an exception: takes them off. Returns the
 * rest. */
static inline struct live_calls live_forget(struct agent_tls *t, uint64_t sp)
{
	struct live_calls l = live_look(t);

	return !l.calls || l.top->sp >= sp ? l : live_forget_again(t, sp);
}

/* Fills in what the new call has of the one that it is made in. */
static inline void live_inherit(struct call_state *call, const struct call_state *top)
{
	call->depth = top->depth + (call->function != LIVE_SILENT);
	call->open = top->open | call->scopes;
}

/* Pushes a call whose return address stands at sp; l: live_forget(t, sp + 1). scopes: those that it
 * opens. False: there is no room. */
static inline bool live_push(struct agent_tls *t, struct live_calls l, uint64_t sp, uint64_t tsc,
			     uint64_t function, uint8_t scopes)
{
	struct call_state call = { sp, tsc, function, 0, scopes, 0, 0 };

	if (l.full)
		return false;
	live_inherit(&call, l.top);
	l.top[1] = call;
	return live_change(t, l, 1) || live_push_again(t, &call);
}

/* Pops the call whose return address stood at sp, and all below it. False: it was not there.
 * call->depth becomes its caller's. */
static inline bool live_pop(struct agent_tls *t, uint64_t sp, struct call_state *call)
{
	struct live_calls l = live_look(t);

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
	struct live_calls l = live_look(t);

	if (!l.calls)
		return;
	l.top->depth++;
	live_show(t, l.top);
}
