/* SPDX-License-Identifier: MIT */
/* A query over rows that the caller has, in place of a trace: the table `answer`. Its columns have
 * the caller's names, or are keys k0, k1, ..., the hit count n, and values v0, v1, ... */
#pragma once
#include "query/query.h"

/* A text, if it is not NULL, else a number, or NULL. */
struct query_cell {
	const char *text;
	enum query_cell_type { QUERY_CELL_WHOLE, QUERY_CELL_REAL, QUERY_CELL_NULL } type;
	uint64_t number;
	bool is_signed;
	double real;
};
#define QUERY_ANSWER_COLUMNS 1000 /* at most */

/* Opens it without rows; query_close() closes it. 0, or -errno and *err. */
int query_answer_open(unsigned keys, unsigned values, struct query **out, struct err *err);
/* query_answer_open() with n columns of these names, at most QUERY_ANSWER_COLUMNS. A name that is
 * taken, also in other letters' case, gets a number behind it: "name:1". */
int query_answer_open_named(const char *const *names, unsigned n, struct query **out,
			    struct err *err);
/* Adds a row, of a cell for each column. A failure is the next query_run()'s. */
void query_answer_add(struct query *q, const struct query_cell *cells, unsigned n);
