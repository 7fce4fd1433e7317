/* SPDX-License-Identifier: MIT */
/* Signals are blocked in every slow path of the agent (signals.c). On the thread concerned. Nothing
 * fails. */
#pragma once
#include <stdint.h>

/* signals.c. Every slow path runs with all signals blocked, so that a handler on this thread finds
 * it either not begun or done. */
/* Not a mask of the kernel's: a filter forbids the call, so nothing is recorded any more
 * (seccomp.c). */
#define SIGNALS_UNTOUCHED (~UINT64_C(0))
/* Returns the mask to restore, or SIGNALS_UNTOUCHED. Calls may be nested. */
uint64_t signals_block(void);
/* old: from signals_block(); SIGNALS_UNTOUCHED: does nothing. */
void signals_restore(uint64_t old);
uint32_t signals_inside(void);     /* number of threads between the two; seccomp.c waits for them */
void signals_after_fork(void);     /* in a child's first slow path: no other thread is in one */
