/* SPDX-License-Identifier: MIT */
/* The cost of recording a call, measured on this machine: a function that does nothing is called
 * in this process, plain and through the code that traced programs get (trampoline, stub, exit).
 *
 * The call's site was met before, and everything is in the caches: no recorded call costs less.
 * The agent's work in C is not in it: first calls of a site, sub-buffers that change hands,
 * arguments, events, the settings that need state (depth, threshold, -g). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Ticks of the stamp's counter for CALL_COST_UNIT calls; all 0: not known. */
#define CALL_COST_UNIT 1024u
struct call_cost {
	uint32_t inside; /* between the stamps of entry and exit: a part of the call's duration */
	uint32_t total;  /* that and what is before and behind: a part of the caller's own time */
};

/* values: exits record what functions return; causal: stamps wait for loads (--causal-order). Takes
 * some milliseconds of the calling thread. False: the system does not let this process make code.
 * Any thread; nothing is kept. */
bool call_cost_measure(bool values, bool causal, struct call_cost *out);
