/* SPDX-License-Identifier: MIT */
/* A table of SQL whose rows are numbered and computed when they are asked for. Column 0 is the
 * row's number, and is called id, utid or the like. Private to src/query. */
#pragma once
#include <sqlite3.h>

#include "query/call_values.h"
#include "query/counters.h"
#include "query/event_values.h"
#include "query/groups_types.h"
#include "query/load.h"
#include "report/summary.h"

/* A trace open for questions: the database, the rows in memory, what is made of them on demand. */
struct query {
	sqlite3 *db;
	sqlite3_stmt *insert;   /* of answer.c; NULL: none */
	struct load load;
	struct summary summary; /* of the table `function` */
	bool summed;
	bool alone;             /* no threads are started */
	struct event_values values;  /* of the table `args`: of events, */
	struct values_of_calls call_values; /* and of calls */
	struct counters counters;    /* of the table `counter` */
	struct err err;         /* why a table could not be read; code 0: none */
	VEC(struct index *) indexes;
	struct groups groups;   /* the latest statement's that groups.h has answered */
	bool changed;           /* a statement may have given `slice` another meaning */
};

/* A column of small numbers by which rows can be found, ordered and grouped without sorting. The
 * numbers are in the order that SQLite gives the column's values: NULL comes first. */
struct query_key {
	int column;
	/* The number of row `row`, less than size(). */
	uint32_t (*of_row)(const struct query *q, size_t row);
	size_t (*size)(const struct query *q);
	/* The number that rows with this value have; false: no row has it. */
	bool (*of_value)(const struct query *q, sqlite3_value *v, uint32_t *key);
};

struct query_table {
	const char *name, *columns; /* columns: as in CREATE TABLE */
	/* Makes the rows, the first time. 0, or -errno and q->err. NULL: they are there. */
	int (*load)(struct query *q);
	size_t (*rows)(const struct query *q);
	/* Sets the column of this row as the result; nothing set: NULL. */
	void (*column)(struct query *q, size_t row, int column, sqlite3_context *to);
	int sorted;                   /* a column that never falls by row; 0: only the id */
	uint64_t (*sorted_of)(const struct query *q, size_t row);
	/* The first of those that a statement compares is taken. Ends with a NULL of_row; NULL:
	 * none */
	const struct query_key *keys;
	/* Asks the processor for the row, which is read soon. NULL: rows are few. */
	void (*ahead)(const struct query *q, size_t row);
	/* Lets go of the memory of all rows, which come back as they are read. NULL: rows are
	 * few. */
	void (*rest)(const struct query *q);
};
/* Rows of a table whose memory may be there between two rests: 48 bytes each of slices. */
#define QUERY_ROWS_AT_ONCE ((size_t)1 << 19)

/* Puts into *err why SQLite failed: its message, or the table's own, which says more. `at`: where
 * in sql the statement begins. Returns -err->code. */
int query_fail(struct query *q, const char *sql, const char *at, struct err *err);

extern const struct query_table query_tables[]; /* ends with a NULL name */

/* A ready question: its columns as a table's, and the SELECT that answers it. */
struct query_view { const char *name, *columns, *select; };
extern const struct query_view query_views[]; /* ends with a NULL name */
/* Makes all views in the schema, "main" or an attached file's, which has the tables. Returns
 * SQLite's result. The thread of the database. */
int query_make_views(sqlite3 *db, const char *schema);

/* Adds the table to q->db, as SQLite's module of its name. Returns SQLite's result. */
int table_create(struct query *q, const struct query_table *t);

/* Opens the query's database. SQLite's code. */
int query_open_database(struct query *q);
/* Ends the opening of a query, of which r is SQLite's code so far. 0 and *out; or -ENOMEM and *err,
 * and the query is closed. */
int query_opened(struct query *q, int r, struct query **out, struct err *err);

/* query_table.load of the tables that are made of records: reads them. 0, or -errno and q->err. */
int tables_need_records(struct query *q);

/* Rows by a key, each key's in their order: those of key k are at[begin[k]] to at[begin[k + 1]]. */
struct index {
	const struct query_key *key;
	struct array_file rows, begins;
};
/* The index of that key, made at need. NULL, and q->err: no room. */
const struct index *index_of(struct query *q, const struct query_table *t,
			     const struct query_key *key);
/* Frees the index and its files. */
void index_free(struct index *x);
/* The two arrays of an index, valid until index_free(). */
static inline const uint32_t *index_rows(const struct index *x) { return x->rows.at; }
static inline const uint32_t *index_begins(const struct index *x) { return x->begins.at; }
