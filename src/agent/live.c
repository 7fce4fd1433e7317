/* SPDX-License-Identifier: MIT */
/* Live calls, where a handler has disturbed what live.h tried, or calls that are dead are in the way. A second disturbance finds
 * signals blocked; where they may not be (filter.c), it is tried until it succeeds. */
#include "agent/live.h"

struct attempt {
	struct agent_tls *t;
	uint64_t mask;     /* of signals, to be restored at the end */
	bool blocked;
};

static struct attempt disturbed(struct agent_tls *t)
{
	return (struct attempt){ t, signals_block(), true };
}

static void end(const struct attempt *a)
{
	if (a->blocked)
		signals_restore(a->mask);
}

static bool change(struct attempt *a, struct live l, int by)
{
	bool done = live_change(a->t, l, by);

	if (!done && !a->blocked)
		*a = disturbed(a->t);
	return done;
}

/* The word that remains when the calls that stood below sp are taken off. */
static struct live cut(struct attempt *a, uint64_t sp)
{
	for (;;) {
		struct live l = live_look(a->t);

		if (!l.calls || l.top->sp >= sp)
			return l;
		change(a, l, -1);
	}
}

struct live live_forget_again(struct agent_tls *t, uint64_t sp)
{
	struct attempt a = { .t = t };
	struct live l = cut(&a, sp);

	end(&a);
	return l;
}

bool live_push_again(struct agent_tls *t, const struct call_state *call)
{
	struct attempt a = disturbed(t);
	struct live l;

	do {
		l = cut(&a, call->sp + 1);
		if (l.full)
			break;
		l.top[1] = *call;
		l.top[1].depth = l.top->depth + 1;
	} while (!change(&a, l, 1));
	end(&a);
	return !l.full;
}

bool live_pop_again(struct agent_tls *t, uint64_t sp, struct call_state *call)
{
	struct attempt a = { .t = t };
	struct live l;
	bool there;

	do {
		l = cut(&a, sp);
		there = l.calls && l.top->sp == sp;
		if (!there)
			break;
		*call = *l.top;
		call->depth = l.top[-1].depth;
	} while (!change(&a, l, -1));
	end(&a);
	return there;
}
