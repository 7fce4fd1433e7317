/* SPDX-License-Identifier: MIT */
/* SQL over a trace: SQLite's parser and planner over tables that are the trace's own arrays.
 * docs/query.md lists the tables. Single-threaded; only ui calls it. */
#pragma once
#include "base/err.h"
#include "store/store.h"

struct query;

enum query_type { QUERY_NULL, QUERY_NUMBER, QUERY_TEXT };

/* One value of a row. The text belongs to the query and is valid until the next row. */
struct query_value {
	enum query_type type;
	const char *text; /* as SQLite writes the value; NULL for QUERY_NULL */
};

/* Takes the results of statements. Each function returns 0, or anything else to end the statement
 * early, which is no error. */
struct query_sink {
	int (*columns)(void *arg, const char *const *names, unsigned n);
	int (*row)(void *arg, const struct query_value *values, unsigned n);
};

/* Opens the trace's tables. Nothing is read of the records until a statement asks for it. r must
 * outlive the query; its records are read by one statement at a time. 0, or -errno and *err. */
int query_open(struct store_reader *r, struct query **out, struct err *err);
/* Closes the database and frees the rows, with their temporary files. NULL is fine. */
void query_close(struct query *q);

/* Runs all statements of the text, in order, until one fails. 0, or -errno and *err, with the
 * column where SQLite knows it. */
int query_run(struct query *q, const char *sql, const struct query_sink *sink, void *arg,
	      struct err *err);
/* Whether the text ends a statement: a prompt asks for more where it does not. */
bool query_is_complete(const char *sql);
