/* SPDX-License-Identifier: MIT */
/* The periods in which recording was off, in TSC, oldest first and disjoint; and for each CPU the
 * time before which its records are discarded. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Recording was off from `from` on, up to before `to`; UINT64_MAX: it still is. */
struct off_period { uint64_t from, to; };
typedef VEC(struct off_period) off_periods;

/* Whether recording was off at the TSC. */
bool off_at(const off_periods *l, uint64_t tsc);
/* Turns recording on or off from tsc on. A later change that the list already has stays as it
 * is. */
void off_turn(off_periods *l, bool on, uint64_t tsc);
/* Whether recording is off after the last change. */
bool off_now(const off_periods *l);
/* Drops the oldest periods that begin after `since`, down to `most` of them. */
void off_forget(off_periods *l, uint64_t since, size_t most);
/* Appends the periods of `from`. */
void off_periods_copy(off_periods *to, const off_periods *from);
/* Adds the periods of `from` to those of `to`: off is when either is. */
void off_periods_unite(off_periods *to, const off_periods *from);

typedef VEC(uint64_t) discard_times; /* by CPU: TSC before which its records are read or cleared */

/* The TSC before which the CPU's records are gone; 0: none are. */
static inline uint64_t off_discarded_before(const discard_times *l, unsigned cpu)
{
	return cpu < l->n ? l->at[cpu] : 0;
}

/* Sets the CPU's time, in place of an earlier one. */
void off_discard_before(discard_times *l, unsigned cpu, uint64_t tsc);
/* Appends to *to, which is empty before. */
void off_discards_copy(discard_times *to, const discard_times *from);
