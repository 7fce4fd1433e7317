/* SPDX-License-Identifier: MIT */
/* Finds the loops of functions to their own first instruction among a thread's records. Such a loop
 * enters the function's trampoline again, which records a RECORD_TAIL: it cannot tell a loop from
 * another function's jump. The call on top tells them apart. trace/calls.h leaves loops out where
 * it makes calls of records; whoever counts calls by their records alone subtracts what this
 * finds.
 *
 * Only functions are followed, neither call sites nor stacks: after a switch to another stack, or a
 * longjmp, no call counts as open, so that the first round of a loop that goes on there is not
 * found.
 *
 * Not locked: each user feeds its own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/dead_runs.h"

/* One thread's open calls. All zero is ready; free with loops_free(). */
struct loops {
	VEC(uint32_t) open; /* function | LOOPS_TAIL */
	uint64_t hidden;    /* open calls beyond CALLS_DEPTH_MAX (trace/calls.h) */
	size_t unwinder;    /* calls below an unwinder's own ones, while `unwinding` */
	struct dead_runs dead; /* calls that an unwinder has left */
	bool unwinding, away; /* a SWITCH of an unwinder came; of another kind */
};

#define LOOPS_TAIL (1u << 31) /* entered by a jump: it ends with the call below it */

/* Follows n words of whole records, which come behind those of the call before; a record whose end
 * is missing ends them. Returns how many are loops. */
uint64_t loops_follow(struct loops *l, const uint64_t *words, size_t n);
/* A call returns, with the jumps on top of it. */
void loops_return(struct loops *l);
/* A call of function fn begins; tail: by a jump. False: a loop, which is no call. */
bool loops_enter(struct loops *l, uint32_t fn, bool tail);
/* Whether the call on top is one of fn: a jump to fn would be a loop. */
bool loops_on_top(const struct loops *l, uint32_t fn);
/* The open calls are not known from here on. */
void loops_forget(struct loops *l);
void loops_free(struct loops *l);
