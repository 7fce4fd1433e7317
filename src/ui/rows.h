/* SPDX-License-Identifier: MIT */
/* Rows of a query as text: a table for people, CSV or JSON for programs. */
#pragma once
#include "base/out.h"
#include "base/vec.h"
#include "query/query.h"

enum rows_form { ROWS_TABLE, ROWS_CSV, ROWS_JSON, ROWS_FORMS_N };

/* A result that is printed, row by row. Not locked: the command's. */
struct rows {
	enum rows_form form;
	struct out *out;
	unsigned n;            /* columns */
	VEC(char *) names;
	/* Table: values that wait until the widths are known, n of them a row. NULL: NULL. */
	VEC(char *) waiting;
	VEC(bool) waiting_numbers;
	VEC(unsigned) widths;
	bool wide;             /* the widths are known */
};

/* Begins a result in that form, without columns yet; rows_end() ends it. `to` is the caller's. */
void rows_init(struct rows *r, enum rows_form form, struct out *to);
/* Prints what waits and frees everything. */
void rows_end(struct rows *r);
/* Takes a struct rows. */
extern const struct query_sink rows_sink;
