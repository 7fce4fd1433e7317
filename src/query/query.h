/* SPDX-License-Identifier: MIT */
/* SQL over a trace: SQLite's parser and planner over tables that are the trace's own arrays.
 * docs/query.md lists the tables. A query belongs to one thread at a time; ui and the library call
 * it. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/stop.h"
#include "excerpt/spec.h"
#include "store/store.h"

struct query;

/* Types of values; query_rows_type() alone tells QUERY_REAL from QUERY_NUMBER. */
enum query_type { QUERY_NULL, QUERY_NUMBER, QUERY_REAL, QUERY_TEXT };

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
/* From now on the tables have a part of the trace, and of its sides (trace_info) those that are
 * shown. Before the first statement; the part outlives the query. A part that cannot be, or has
 * nothing, fails the first statement that reads records. */
void query_choose(struct query *q, const struct excerpt_spec *part);
/* Closes the database and frees the rows, with their temporary files. NULL is fine. */
void query_close(struct query *q);

/* Runs all statements of the text, in order, until one fails. 0, or -errno and *err, with the
 * column where SQLite knows it. */
int query_run(struct query *q, const char *sql, const struct query_sink *sink, void *arg,
	      struct err *err);
/* The rows of a text's last statement, asked for one by one. */
struct query_rows;
/* Runs all statements of the text but the last, whose rows it opens. q must outlive them, and may
 * have several. 0, or -errno and *err as query_run(). */
int query_rows_open(struct query *q, const char *sql, struct query_rows **out, struct err *err);
/* 1: it stands on the next row; 0 at the end; -errno and *err. */
int query_rows_next(struct query_rows *r, struct err *err);
unsigned query_rows_columns(const struct query_rows *r);
/* A column's name, until the rows are closed; NULL behind the last. */
const char *query_rows_name(const struct query_rows *r, unsigned column);
/* The values of the row that it stands on. Texts are valid until the next row, or until the same
 * column is asked for as another type; NULL: an SQL NULL. */
enum query_type query_rows_type(const struct query_rows *r, unsigned column);
int64_t query_rows_int(const struct query_rows *r, unsigned column);
double query_rows_real(const struct query_rows *r, unsigned column);
const char *query_rows_text(const struct query_rows *r, unsigned column);
void query_rows_close(struct query_rows *r); /* NULL is fine */

/* Has everything done on the calling thread: q starts no others. */
void query_stay_alone(struct query *q);
/* Writes all tables into a database file, new or empty. stop (or NULL) is asked: -EINTR. 0, or
 * -errno and *err: the file is not whole then. */
int query_save(struct query *q, const char *path, const struct stop *stop,
	       struct err *err);
/* Whether the text ends a statement: a prompt asks for more where it does not. */
bool query_is_complete(const char *sql);
