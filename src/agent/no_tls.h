/* SPDX-License-Identifier: MIT */
/* Blocks of threads that have no thread pointer to be relied on (no_tls.c). */
#pragma once
#include "agent/agent.h"

/* no_tls.c. Blocks by thread id: for AGENT_NO_TLS, which the tracer may ask for, and from the
 * moment that a thread is made which no C library sets up. no_tls_begin() does nothing without
 * AGENT_NO_TLS. It returns false if there is no memory. */
extern uint32_t agent_no_tls;           /* 1: blocks are found by thread id */
extern uint64_t agent_pointer_guard; /* glibc's, kept for threads without a thread pointer */
bool no_tls_begin(const struct protocol_setup *w);
/* Unmaps the blocks at a detach: no thread is in the agent. */
void no_tls_end(void);
/* Call when a function with this nonlocal_info is entered. sp: address of its return address;
 * below it lies what agent_slow_nonlocal kept. */
void no_tls_starts(const struct nonlocal_info *about, const uint64_t *sp);
