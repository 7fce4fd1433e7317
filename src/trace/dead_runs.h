/* SPDX-License-Identifier: MIT */
/* Calls that an unwinder has left, while its own calls still stand above them, as runs of a stack's
 * indices. How many UNWIND records there are is the program's to choose: each one goes on where the
 * one before ended, and walks over no call twice. calls.c and loops.c keep one for each stack, on
 * their callers' threads, and instance/record_filter.c looks into those of calls.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct dead_run { size_t low, high; }; /* calls low to high - 1 */

/* Innermost last. No two touch each other. All zero is ready; free with vec_free(). */
struct dead_runs { struct dead_run *at; size_t n, cap; };

/* The call under the first i that is not dead is the one at the result - 1; 0: there is none. *k:
 * how many runs are left to pass; d->n before the first step down a stack. */
static inline size_t dead_runs_pass(const struct dead_runs *d, size_t *k, size_t i)
{
	while (*k && d->at[*k - 1].high >= i)
		i = d->at[--*k].low < i ? d->at[*k].low : i;
	return i;
}

/* Calls low to high - 1 are dead from now on. What is dead already lies below high, or touches it
 * at low. */
static inline void dead_runs_add(struct dead_runs *d, size_t low, size_t high)
{
	while (d->n && d->at[d->n - 1].high >= low) {
		low = d->at[d->n - 1].low < low ? d->at[d->n - 1].low : low;
		high = d->at[d->n - 1].high > high ? d->at[d->n - 1].high : high;
		d->n--;
	}
	*vec_add(d) = (struct dead_run){ low, high };
}

/* Whether the top one of n calls is dead. */
static inline bool dead_runs_on_top(const struct dead_runs *d, size_t n)
{
	return d->n && d->at[d->n - 1].high == n;
}

/* Call n ended, which was on top. */
static inline void dead_runs_end(struct dead_runs *d, size_t n)
{
	struct dead_run *top = d->n ? &d->at[d->n - 1] : NULL;

	if (!top || top->high <= n)
		return;
	top->high = n;
	d->n -= top->low == n;
}
