/* SPDX-License-Identifier: MIT */
/* Lists of times at which an instance did not record. A buffer remembers switches of tracing_on
 * this way instead of acting on them at once: records arrive milliseconds later, from all threads
 * out of order, and each is judged by its own stamp. Not locked: buffer.c uses them under its lock,
 * triggers.c and merge.c have copies. Nothing fails. */
#include "instance/off_periods.h"

#include <stdlib.h>
#include <string.h>

/* Index of the first period that ends after tsc. Searches from the end: lists may be long, and most
 * questions are about now. */
static size_t first_ending_after(const off_periods *l, uint64_t tsc)
{
	size_t i = l->n;

	while (i && l->at[i - 1].to > tsc)
		i--;
	return i;
}

bool off_at(const off_periods *l, uint64_t tsc)
{
	size_t i = first_ending_after(l, tsc);

	return i < l->n && l->at[i].from <= tsc;
}

bool off_now(const off_periods *l)
{
	return l->n && l->at[l->n - 1].to == UINT64_MAX;
}

/* Removes period i: recording was turned on at the moment it was turned off. */
static void remove_period(off_periods *l, size_t i)
{
	l->n--;
	memmove(&l->at[i], &l->at[i + 1], (l->n - i) * sizeof(l->at[0]));
}

void off_turn(off_periods *l, bool on, uint64_t tsc)
{
	size_t i = first_ending_after(l, tsc);
	bool off = i < l->n && l->at[i].from <= tsc;

	/* Nothing changes: recording is so already at tsc. */
	if (off != on)
		return;
	if (off && l->at[i].from == tsc)
		remove_period(l, i);
	else if (off)
		l->at[i].to = tsc;
	/* Off already from a later time on: that period begins earlier. */
	else if (i < l->n)
		l->at[i].from = tsc;
	else
		*vec_add(l) = (struct off_period){ tsc, UINT64_MAX };
}

void off_forget(off_periods *l, uint64_t since, size_t most)
{
	size_t first = 0, gone;

	/* Periods up to `since` stay: records from before it are judged by them when they are
	 * read. */
	while (first < l->n && l->at[first].from <= since)
		first++;
	if (l->n - first <= most)
		return;
	gone = l->n - first - most;
	memmove(&l->at[first], &l->at[first + gone], most * sizeof(l->at[0]));
	l->n -= gone;
}

void off_periods_copy(off_periods *to, const off_periods *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}

static int by_begin(const void *a, const void *b)
{
	const struct off_period *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

void off_periods_unite(off_periods *to, const off_periods *from)
{
	size_t n = 0;

	off_periods_copy(to, from);
	/* The lists are sorted; only another list's periods disturb the order. */
	if (from->n)
		qsort(to->at, to->n, sizeof(to->at[0]), by_begin);
	for (size_t i = 1; i < to->n; i++) {
		struct off_period *last = &to->at[n], *next = &to->at[i];

		if (next->from > last->to)
			to->at[++n] = *next;
		else if (next->to > last->to)
			last->to = next->to;
	}
	to->n = to->n ? n + 1 : 0;
}

void off_discard_before(discard_times *l, unsigned cpu, uint64_t tsc)
{
	while (l->n <= cpu)
		*vec_add(l) = 0;
	l->at[cpu] = tsc;
}

void off_discards_copy(discard_times *to, const discard_times *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}
