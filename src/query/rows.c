/* SPDX-License-Identifier: MIT */
/* The rows of a statement, one by one, for callers that cannot be called back. The library calls
 * it, on the query's thread. Fails as query_run() does. */
#include <errno.h>
#include <string.h>

#include "query/query.h"
#include "query/table.h"

struct query_rows {
	struct query *q;
	sqlite3_stmt *statement; /* NULL: the text has none */
	char *sql;
	const char *at;          /* in sql, where the statement begins */
	bool over;
};

/* Skips what separates statements: blanks, semicolons and comments. */
static const char *skip_to_statement(const char *at)
{
	const char *end;

	for (;;) {
		at += strspn(at, " \t\r\n\f;");
		if (strncmp(at, "--", 2) == 0) {
			at += strcspn(at, "\n");
		} else if (strncmp(at, "/*", 2) == 0) {
			end = strstr(at, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

/* Runs the statement to its end, for its effect. */
static int run_through(sqlite3_stmt *s)
{
	int r;

	while ((r = sqlite3_step(s)) == SQLITE_ROW)
		;
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

/* Prepares each statement, and runs those that another one follows. */
static int prepare_last(struct query_rows *r, struct err *err)
{
	const char *next;

	for (r->at = skip_to_statement(r->sql); *r->at; r->at = next) {
		if (sqlite3_prepare_v2(r->q->db, r->at, -1, &r->statement, &next) != SQLITE_OK)
			return query_fail(r->q, r->sql, r->at, err);
		next = skip_to_statement(next);
		if (!*next)
			return 0;
		if (run_through(r->statement) != SQLITE_OK)
			return query_fail(r->q, r->sql, r->at, err);
		sqlite3_finalize(r->statement);
		r->statement = NULL;
	}
	return 0;
}

/* *out only if 0 is returned. Statements before the last one have run by then. */
int query_rows_open(struct query *q, const char *sql, struct query_rows **out, struct err *err)
{
	struct query_rows *r = mem_zalloc(sizeof(*r));
	int failed;

	r->q = q;
	r->sql = mem_strdup(sql);
	failed = prepare_last(r, err);
	if (failed) {
		query_rows_close(r);
		return failed;
	}
	*out = r;
	return 0;
}

/* SQLite would begin anew behind the end. */
int query_rows_next(struct query_rows *r, struct err *err)
{
	int step;

	if (r->over || !r->statement)
		return 0;
	step = sqlite3_step(r->statement);
	if (step == SQLITE_ROW)
		return 1;
	r->over = true;
	return step == SQLITE_DONE ? 0 : query_fail(r->q, r->sql, r->at, err);
}

/* 0: the text has no statement (SQLite takes NULL). */
unsigned query_rows_columns(const struct query_rows *r)
{
	return (unsigned)sqlite3_column_count(r->statement);
}

const char *query_rows_name(const struct query_rows *r, unsigned column)
{
	return column < query_rows_columns(r) ? sqlite3_column_name(r->statement, (int)column)
					      : NULL;
}

/* The type in the row that the last query_rows_next() gave, as all below. */
enum query_type query_rows_type(const struct query_rows *r, unsigned column)
{
	switch (sqlite3_column_type(r->statement, (int)column)) {
	case SQLITE_NULL:
		return QUERY_NULL;
	case SQLITE_INTEGER:
		return QUERY_NUMBER;
	case SQLITE_FLOAT:
		return QUERY_REAL;
	default:
		return QUERY_TEXT;
	}
}

int64_t query_rows_int(const struct query_rows *r, unsigned column)
{
	return sqlite3_column_int64(r->statement, (int)column);
}

double query_rows_real(const struct query_rows *r, unsigned column)
{
	return sqlite3_column_double(r->statement, (int)column);
}

/* Valid until the next row, or another question of the same column. */
const char *query_rows_text(const struct query_rows *r, unsigned column)
{
	return (const char *)sqlite3_column_text(r->statement, (int)column);
}

void query_rows_close(struct query_rows *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->statement);
	free(r->sql);
	free(r);
}
