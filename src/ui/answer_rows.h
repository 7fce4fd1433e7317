/* SPDX-License-Identifier: MIT */
/* The rows of a histogram as the answer of a SELECT over them (sql_writes.select). */
#pragma once
#include "hist/hist.h"
#include "ui/rows.h"
#include "ui/screen.h"

/* A question of groups. */
struct answer_select {
	const char *sql;          /* over the table `answer` (query/answer.h) */
	unsigned keys, values;    /* of the histogram */
};

/* The rows of one answer. s outlives them. NULL: *err. */
struct answer_rows;
struct answer_rows *answer_rows_new(const struct answer_select *s, struct err *err);
void answer_rows_free(struct answer_rows *r);
/* hist_printer.print; arg: a struct answer_rows. Takes the rows, prints nothing. */
void answer_rows_take(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
		      struct out *out);
/* Prints the answer in that form, and says what is not in it. 0, or -errno and *err. */
int answer_rows_print(struct answer_rows *r, enum rows_form form, struct screen *to,
		      struct err *err);
