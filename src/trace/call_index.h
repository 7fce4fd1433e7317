/* SPDX-License-Identifier: MIT */
/* Which functions are among the open calls of a stack, and which of them made one. The number of
 * open calls, and of exits that name a function, is the program's to choose: whoever walked down
 * the stack for each of them would never come to an end.
 *
 * The index is brought up to date when it is asked, and only by the calls that came and went
 * since: those that it has have CALL_NOTED. A new call lacks it, so that those that have it are
 * always the outermost. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/vec.h"

struct call_frame;

/* All zero is ready. */
struct call_index {
	/* By the call's place on the stack: its function, and the one that made it; FN_NONE for a
	 * call that shares another's exit, and for the outermost. */
	VEC(struct noted_call { uint32_t fn; uint32_t maker; }) noted;
	struct number_map open, makers; /* how many of the calls, by function */
};

/* Brings the index up to date with n open calls, outermost first. */
void call_index_update(struct call_index *x, struct call_frame *at, size_t n);
/* True if a call of fn is open; if one of fn, or what shares its exit at last, made another one.
 * As of call_index_update(). */
bool call_index_is_open(const struct call_index *x, uint32_t fn);
bool call_index_is_maker(const struct call_index *x, uint32_t fn);
void call_index_free(struct call_index *x);
