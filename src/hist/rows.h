/* SPDX-License-Identifier: MIT */
/* A histogram's entries as rows of plain values, for programs that go on computing with them. */
#pragma once
#include "hist/hist.h"

/* A text, if it is not NULL, else a number. */
struct hist_cell {
	const char *text;       /* valid until the callback returns */
	uint64_t number;
	bool is_signed;
};

struct hist_row {
	struct hist_cell keys[HIST_KEYS_MAX], values[HIST_VALUES_MAX];
	size_t n_keys, n_values;
	uint64_t hits;
};

/* Counts of the whole histogram, which the sum of its rows does not give. */
struct hist_rows_totals { uint64_t hits, crowded, unsent; }; /* as in struct hist_table */

/* (records) Calls row() for each entry of the newest histogram of the list, in no order. Addresses
 * are shown as functions, stacks as `inner < outer`; a range of powers of two is its end, another
 * its begin. *totals is 0 if there is no histogram. */
void hist_rows(const struct trigger_list *l, const struct hist_symbols *symbols,
	       void (*row)(void *arg, const struct hist_row *r), void *arg,
	       struct hist_rows_totals *totals);
