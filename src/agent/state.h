/* SPDX-License-Identifier: MIT */
/* Live calls in each thread's block, for the tracers that decide by them (state.c), and stacks for
 * Go's calls (go_stack.c). On the thread whose calls they are. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "shared/nonlocal.h"

/* state.c. True if the tracer keeps live calls in each thread's block; else nonlocal.c uses those
 * fields. */
static inline bool state_is_kept(void)
{
	return agent.settings.tracer == MEMORY_GRAPH_STATE || agent.flags & AGENT_NO_TLS;
}

/* agent_entry() in state mode: also decides by the thread's live calls whether the call is
 * recorded. Returns its stub, or 0. */
uint64_t agent_state_entry(uint64_t sp, uint32_t id_word);
/* Whether a call whose return address stands at sp is made inside of a recorded one. */
bool state_is_inside(uint64_t sp);
/* For entry.S (go_stack.c): the top of a stack that is the thread's until it gives it back, or 0,
 * and the call is counted as lost. */
uint64_t go_stack_take(void);
void go_stack_give(uint64_t top);
/* Return of a call that agent_state_entry() gave a stub: records the exit, and drops the live calls
 * up to it. sp: stack address of the return address. */
void agent_state_exit(uint64_t sp, uint32_t site);
/* An unwinder passes a stub in its second phase: the call is over. */
void state_unwound(void);
/* agent_nonlocal() in state mode. */
uint64_t agent_state_nonlocal(const uint64_t *sp, const struct nonlocal_info *about);
