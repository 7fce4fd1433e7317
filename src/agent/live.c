/* SPDX-License-Identifier: MIT */
/* The slow half of live.h, on the same thread: a handler disturbed the first attempt, or dead calls
 * are in the way. After a second disturbance signals are blocked; where they cannot be (seccomp.c),
 * it tries until it succeeds. A push without room fails, all else succeeds. */
#include "agent/live.h"
#include "agent/signals.h"

struct attempt {
	struct agent_tls *t;
	uint64_t mask;     /* the signal mask to restore at the end */
	bool blocked;
};

/* An attempt that no handler can disturb. */
static struct attempt attempt_blocked(struct agent_tls *t)
{
	return (struct attempt){ t, signals_block(), true };
}

static void attempt_end(const struct attempt *a)
{
	if (a->blocked)
		signals_restore(a->mask);
}

static bool attempt_change(struct attempt *a, struct live_calls l, int by)
{
	bool done = live_change(a->t, l, by);

	if (!done && !a->blocked)
		*a = attempt_blocked(a->t);
	return done;
}

/* Takes off the calls below sp and returns the rest. */
static struct live_calls attempt_cut(struct attempt *a, uint64_t sp)
{
	for (;;) {
		struct live_calls l = live_look(a->t);

		if (!l.calls || l.top->sp >= sp)
			return l;
		attempt_change(a, l, -1);
	}
}

struct live_calls live_forget_again(struct agent_tls *t, uint64_t sp)
{
	struct attempt a = { .t = t };
	struct live_calls l = attempt_cut(&a, sp);

	attempt_end(&a);
	return l;
}

bool live_push_again(struct agent_tls *t, const struct call_state *call)
{
	struct attempt a = attempt_blocked(t);
	struct live_calls l;

	do {
		l = attempt_cut(&a, call->sp + 1);
		if (l.full)
			break;
		l.top[1] = *call;
		live_inherit(&l.top[1], l.top);
	} while (!attempt_change(&a, l, 1));
	attempt_end(&a);
	return !l.full;
}

bool live_pop_again(struct agent_tls *t, uint64_t sp, struct call_state *call)
{
	struct attempt a = { .t = t };
	struct live_calls l;
	bool there;

	do {
		l = attempt_cut(&a, sp);
		there = l.calls && l.top->sp == sp;
		if (!there)
			break;
		*call = *l.top;
		call->depth = l.top[-1].depth;
	} while (!attempt_change(&a, l, -1));
	attempt_end(&a);
	return there;
}
