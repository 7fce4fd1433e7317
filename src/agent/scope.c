/* SPDX-License-Identifier: MIT */
/* Decides by a thread's live calls (live.h) whether an event lies in a scope. Called by probes,
 * static events, system calls and signals' handlers, on the thread that they happen on, before
 * anything of the event is fetched. Nothing is changed: dead calls, which a longjmp left, are
 * passed over and stay for state.c. A thread whose calls could not be followed (stacks.c) loses
 * the event, which is counted. */
#include "agent/scope.h"

#include "agent/buffer.h"
#include "agent/lend.h"
#include "agent/live.h"
#include "agent/site.h"
#include "agent/stacks.h"
#include "arch/entry.h"

/* Whether the call is over: its place lies below the stack pointer, or, right at it, something else
 * stands there than the stub of a call that is followed. */
static bool is_over(const struct call_state *call, uint64_t sp)
{
	if (call->sp != sp)
		return call->sp < sp;
	return call->function != LIVE_UNFOLLOWED && !site_is_in_arena(entry_return(sp));
}

/* Whether one of the scopes reaches from a call that is open down to here. */
static bool reaches(struct live_calls l, uint32_t scopes)
{
	const uint8_t *depths = agent.settings.scope_depths;
	uint32_t level = scopes & SCOPE_ENTERS ? 2 : 1;

	for (; l.calls && scopes & l.top->open; l.calls--, l.top--, level++)
		for (unsigned i = 0; i < MEMORY_SCOPES; i++)
			if (scopes & l.top->scopes & 1u << i && (!depths[i] || level <= depths[i]))
				return true;
	return false;
}

bool scope_look(uint32_t scopes, uint64_t sp)
{
	struct agent_tls *t;
	struct live_calls l;

	lend_look(sp);
	t = agent_tls_block();
	if (!stack_is_there(t)) {
		if (stack_was_refused(t))
			buffer_lose_records(t, 1);
		return false;
	}
	for (l = live_look(t); l.calls && is_over(l.top, sp); l.top--)
		l.calls--;
	return l.top->open & scopes && reaches(l, scopes);
}
