/* SPDX-License-Identifier: MIT */
/* One value of a set, without a join with `args`. Called by SQLite on the query's thread. NULL:
 * there is no such set, or it has no such key. */
#include "query/extract_arg.h"

#include "query/args.h"

static void extract_value(sqlite3_context *to, int n, sqlite3_value **args)
{
	struct query *q = sqlite3_user_data(to);
	const char *key = (const char *)sqlite3_value_text(args[1]);

	if (!key || sqlite3_value_type(args[0]) != SQLITE_INTEGER)
		return;
	if (args_need(q))
		sqlite3_result_error(to, q->err.text, -1);
	else
		args_give(q, sqlite3_value_int64(args[0]), key, to);
}

/* SQLITE_DETERMINISTIC lets SQLite take a call with constant arguments out of its loop.
 * SQLITE_INNOCUOUS lets views call it even where the schema is not trusted. */
int extract_arg_create(struct query *q)
{
	return sqlite3_create_function_v2(q->db, "extract_arg", 2,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, q,
					  extract_value, NULL, NULL, NULL);
}
