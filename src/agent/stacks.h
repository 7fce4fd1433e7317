/* SPDX-License-Identifier: MIT */
/* Stacks of live calls, one a thread and one for each stack of the program that was left
 * (stacks.c, saved_stacks.c). On the thread whose calls they are. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

/* stacks.c. Gives the thread an empty stack of live calls of this session; false: there is none. */
#define STACK_SESSION (agent.session * (TLS_KNOWN_MASK + 1)) /* of agent_tls.known */
bool stack_take(struct agent_tls *t);
/* True if the thread has a stack of live calls of this session. */
static inline bool stack_is_there(const struct agent_tls *t)
{
	return t->stack_base && (t->known & ~TLS_KNOWN_MASK) == STACK_SESSION;
}
/* Takes one if need be; false: there is none, and the call cannot be followed. */
static inline bool stack_ready(struct agent_tls *t)
{
	return stack_is_there(t) || stack_take(t);
}
/* The thread asked in this session, and got none. */
bool stack_was_refused(const struct agent_tls *t);
void stack_give(uint64_t base); /* frees a stack for other threads; 0: does nothing */
void stacks_end(void);          /* at a detach: no thread is in here */

/* saved_stacks.c, in state mode. saved_stack_put() puts away the live calls of a stack that is left
 * at sp, saved_stack_take() takes them up again when the thread goes on there. False: no room, or
 * nothing there. Signals blocked. */
bool saved_stack_put(struct agent_tls *t, uint64_t sp);
bool saved_stack_take(struct agent_tls *t, uint64_t sp);
void saved_stacks_forget(void); /* at a detach: no thread is in here */
