/* SPDX-License-Identifier: MIT */
#include "instance/spans.h"

#include <stdlib.h>
#include <string.h>

/* The first span that ends behind this time. There may be many, and the newest are asked about. */
static size_t place_of(const off_list *l, uint64_t tsc)
{
	size_t i = l->n;

	while (i && l->at[i - 1].to > tsc)
		i--;
	return i;
}

bool off_at(const off_list *l, uint64_t tsc)
{
	size_t i = place_of(l, tsc);

	return i < l->n && l->at[i].from <= tsc;
}

bool off_now(const off_list *l)
{
	return l->n && l->at[l->n - 1].to == UINT64_MAX;
}

static void take_out(off_list *l, size_t i)
{
	l->n--;
	memmove(&l->at[i], &l->at[i + 1], (l->n - i) * sizeof(l->at[0]));
}

void off_turn(off_list *l, bool on, uint64_t tsc)
{
	size_t i = place_of(l, tsc);
	bool off = i < l->n && l->at[i].from <= tsc;

	if (off != on)
		return;
	if (off && l->at[i].from == tsc)
		take_out(l, i);
	else if (off)
		l->at[i].to = tsc;
	else if (i < l->n)
		l->at[i].from = tsc;
	else
		*vec_add(l) = (struct off_span){ tsc, UINT64_MAX };
}

void off_forget(off_list *l, uint64_t since, size_t most)
{
	size_t first = 0, gone;

	while (first < l->n && l->at[first].from <= since)
		first++;
	if (l->n - first <= most)
		return;
	gone = l->n - first - most;
	memmove(&l->at[first], &l->at[first + gone], most * sizeof(l->at[0]));
	l->n -= gone;
}

void off_list_copy(off_list *to, const off_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}

static int by_begin(const void *a, const void *b)
{
	const struct off_span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

void off_list_unite(off_list *to, const off_list *from)
{
	size_t n = 0;

	off_list_copy(to, from);
	if (from->n)
		qsort(to->at, to->n, sizeof(to->at[0]), by_begin);
	for (size_t i = 1; i < to->n; i++) {
		struct off_span *last = &to->at[n], *next = &to->at[i];

		if (next->from > last->to)
			to->at[++n] = *next;
		else if (next->to > last->to)
			last->to = next->to;
	}
	to->n = to->n ? n + 1 : 0;
}

void gone_set(gone_list *l, unsigned cpu, uint64_t tsc)
{
	while (l->n <= cpu)
		*vec_add(l) = 0;
	l->at[cpu] = tsc;
}

void gone_list_copy(gone_list *to, const gone_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}
