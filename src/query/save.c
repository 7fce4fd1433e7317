/* SPDX-License-Identifier: MIT */
/* Copies a query's tables into a database file: `brace export --to sqlite`. The same columns under
 * the same names, so that a statement of brace query is one of sqlite3, too. Called by ui, on its
 * thread. Fails as SQLite does (a full disk), and as reading the trace does; the file is the
 * caller's to remove then. */
#include <errno.h>
#include <string.h>

#include "query/query.h"
#include "query/table.h"

/* A reader of a file that is not whole never sees it: no journal is needed, and no waiting. */
static const char begin[] = "PRAGMA out.journal_mode = OFF; PRAGMA out.synchronous = OFF";

/* Columns by which people select, besides those that are sorted as they are stored. */
static const char *const indexes[] = {
	"CREATE INDEX out.slice_name ON slice(name)",
	"CREATE INDEX out.slice_parent ON slice(parent_id)",
	"CREATE INDEX out.args_set ON args(arg_set_id)",
};

/* SQLite asks every 100,000 steps of its machine, that is within a few milliseconds. */
static int stop_now(void *arg)
{
	const struct stop *stop = arg;

	return stop_asked(stop);
}

/* Takes over SQLite's result, or the table's own error, which says more. */
static int take_failure(struct query *q, int r, struct err *err)
{
	if (r == SQLITE_OK)
		return 0;
	if (r == SQLITE_INTERRUPT)
		return err_set(err, EINTR, "interrupted");
	if (q->err.code) {
		*err = q->err;
		q->err = (struct err){ 0 };
		return -err->code;
	}
	return err_set(err, r == SQLITE_FULL ? ENOSPC : EIO, "cannot write the database: %s",
		       sqlite3_errmsg(q->db));
}

/* The path is bound, not printed into the statement: it may have quotes. */
static int attach_file(struct query *q, const char *path)
{
	sqlite3_stmt *s;
	int r = sqlite3_prepare_v2(q->db, "ATTACH ?1 AS out", -1, &s, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
	if (r == SQLITE_OK)
		sqlite3_step(s);
	r = sqlite3_finalize(s);
	return r == SQLITE_OK ? sqlite3_exec(q->db, begin, NULL, NULL, NULL) : r;
}

/* The first column is the row's number: as INTEGER PRIMARY KEY it takes no room of its own. */
static int copy_table(struct query *q, const struct query_table *t)
{
	const char *rest = strchr(t->columns, ',');
	char *sql = sqlite3_mprintf("CREATE TABLE out.\"%w\"(%.*s PRIMARY KEY%s);"
				    "INSERT INTO out.\"%w\" SELECT * FROM main.\"%w\"",
				    t->name, (int)(rest - t->columns), t->columns, rest, t->name,
				    t->name);
	int r = sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return r;
}

/* One transaction: without it SQLite would write the file's header for each of the tables anew. */
int query_save(struct query *q, const char *path, const struct stop *stop,
	       struct err *err)
{
	int r = attach_file(q, path);

	sqlite3_progress_handler(q->db, 100000, stop_now, (void *)stop);
	if (r == SQLITE_OK)
		r = sqlite3_exec(q->db, "BEGIN", NULL, NULL, NULL);
	for (const struct query_table *t = query_tables; t->name && r == SQLITE_OK; t++)
		r = copy_table(q, t);
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes) && r == SQLITE_OK; i++)
		r = sqlite3_exec(q->db, indexes[i], NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = query_make_views(q->db, "out");
	if (r == SQLITE_OK)
		r = sqlite3_exec(q->db, "COMMIT; DETACH out", NULL, NULL, NULL);
	r = take_failure(q, r, err);
	sqlite3_progress_handler(q->db, 0, NULL, NULL);
	return r;
}
