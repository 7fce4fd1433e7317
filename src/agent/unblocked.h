/* SPDX-License-Identifier: MIT */
/* System calls of the agent's that are made while signals are not blocked: a filter that another
 * thread installs for all waits for them (unblocked.c). On the thread concerned. Nothing fails. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* False: a filter forbids what `needs` (enum need) says; the call is not made, and nothing has
 * begun. True: unblocked_end() follows behind the call, or the calls. May be nested. */
bool unblocked_begin(uint32_t needs);
void unblocked_end(void);
/* Makes a system call without arguments, getpid() or its kin, and returns its result; 0 where a
 * filter forbids it. */
int32_t unblocked_call0(long number);
/* Whether a thread other than this one is between the two. Without thread pointers (no_tls.h)
 * nobody is. */
bool unblocked_others(void);
/* Forgets all that have begun: those of other processes after a fork, and those whose threads left
 * by a jump out of a handler. */
void unblocked_forget(void);
