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

struct call_state {
	uint64_t sp;       /* where the return address stood */
	uint64_t tsc;      /* of the entry */
	uint64_t function;
	uint64_t depth;    /* in calls, from 1; each tail call goes one deeper */
};

#define LIVE_MAX (AGENT_STACK_BYTES / sizeof(struct call_state)) /* calls in a stack; stack_base stands for none */
_Static_assert((LIVE_MAX & (LIVE_MAX - 1)) == 0, "the calls have the low bits of the word");

/* What the word says at one moment. */
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

/* One thread's work on its calls. */
struct live_work {
	struct agent_tls *t;
	uint64_t mask;     /* of signals, to be restored at the end */
	bool blocked;      /* a handler disturbed it: signals are blocked by now */
};

static inline void live_end(const struct live_work *w)
{
	if (w->blocked)
		signals_restore(w->mask);
}

/* One call more (1) or less (-1). False: a handler was here, and nothing is changed. No other thread writes to the word: no
 * lock. */
static inline bool live_change(struct live_work *w, struct live l, int by)
{
	struct agent_tls *t = w->t;
	uint64_t next = l.word + LIVE_MAX + (uint64_t)by;
	bool done;

	t->depth = 0;
	__asm__ volatile("cmpxchg %3, %1" : "=@ccz"(done), "+m"(t->live), "+a"(l.word) : "r"(next) : "memory");
	if (done) {
		live_show(t, l.top + by);
	} else if (!w->blocked) {
		w->mask = signals_block();
		w->blocked = true;
	}
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

/* What remains when the calls that stood below sp are taken off. */
static inline struct live live_cut(struct live_work *w, uint64_t sp)
{
	for (;;) {
		struct live l = live_look(w->t);

		if (!l.calls || l.top->sp >= sp)
			return l;
		live_change(w, l, -1);
	}
}

/* Control has left the calls that stood below sp, by a longjmp or an exception. Returns what remains. */
static inline struct live live_forget(struct agent_tls *t, uint64_t sp)
{
	struct live_work w = { .t = t };
	struct live l = live_cut(&w, sp);

	live_end(&w);
	return l;
}

/* A call begins whose return address stands at sp. False: there is no room for it. */
static inline bool live_push(struct agent_tls *t, uint64_t sp, uint64_t tsc, uint64_t function)
{
	struct live_work w = { .t = t };
	struct live l;

	do {
		l = live_cut(&w, sp + 1);
		if (l.full)
			break;
		l.top[1] = (struct call_state){ sp, tsc, function, l.top->depth + 1 };
	} while (!live_change(&w, l, 1));
	live_end(&w);
	return !l.full;
}

/* The call whose return address stood at sp returns: it is taken off, and what stood below it. False: it was not there.
 * call->depth is its caller's. */
static inline bool live_pop(struct agent_tls *t, uint64_t sp, struct call_state *call)
{
	struct live_work w = { .t = t };
	struct live l;
	bool there;

	do {
		l = live_cut(&w, sp);
		there = l.calls && l.top->sp == sp;
		if (!there)
			break;
		*call = *l.top;
		call->depth = l.top[-1].depth;
	} while (!live_change(&w, l, -1));
	live_end(&w);
	return there;
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
