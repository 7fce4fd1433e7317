/* SPDX-License-Identifier: MIT */
/* When recording was off: spans of TSC, by time. And up to when the records of each CPU are gone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Recording was off from `from` on, up to before `to`; UINT64_MAX: it still is. */
struct off_span { uint64_t from, to; };
typedef VEC(struct off_span) off_list;

bool off_at(const off_list *l, uint64_t tsc);
/* On or off from this time on, up to the next time at which it changes. */
void off_turn(off_list *l, bool on, uint64_t tsc);
/* At the end of all that is known. */
bool off_now(const off_list *l);
/* Forgets the oldest spans that begin after `since`, down to so many. */
void off_forget(off_list *l, uint64_t since, size_t most);
void off_list_copy(off_list *to, const off_list *from);
/* Adds to what `to` has the spans of `from`: off is when either is. */
void off_list_unite(off_list *to, const off_list *from);

typedef VEC(uint64_t) gone_list; /* by CPU; a TSC */

static inline uint64_t gone_of(const gone_list *l, unsigned cpu)
{
	return cpu < l->n ? l->at[cpu] : 0;
}

void gone_set(gone_list *l, unsigned cpu, uint64_t tsc);
void gone_list_copy(gone_list *to, const gone_list *from);
