/* SPDX-License-Identifier: MIT */
/* One field of an event, without a join with `args`. Called by SQLite on the query's thread. NULL:
 * there is no such event, or it has no such field. */
#include "query/extract_arg.h"

#include <string.h>

#include "query/event_values.h"

/* The format is NULL where the trace's text of it cannot be read: the event has no fields then. */
static const struct event_field *field_named(const struct event_format *f, const char *name)
{
	for (size_t i = 0; f && i < f->n; i++)
		if (!strcmp(f->fields[i].name, name))
			return &f->fields[i];
	return NULL;
}

/* TRANSIENT: the text lies in the record's payload, which may be moved by the next load. */
static void extract_field(sqlite3_context *to, int n, sqlite3_value **args)
{
	struct query *q = sqlite3_user_data(to);
	const char *key = (const char *)sqlite3_value_text(args[1]);
	sqlite3_int64 row = sqlite3_value_int64(args[0]);
	const struct event_field *f;
	struct event_value v;

	if (!key || sqlite3_value_type(args[0]) != SQLITE_INTEGER)
		return;
	if (tables_need_values(q)) {
		sqlite3_result_error(to, q->err.text, -1);
		return;
	}
	if (row < 0 || (size_t)row >= load_events_n(&q->load))
		return;
	f = field_named(q->values.formats.at[load_events(&q->load)[row].event], key);
	if (!f)
		return;
	v = event_value_of(&q->load, (size_t)row, f);
	query_give_value(to, &v);
}

/* SQLITE_DETERMINISTIC lets SQLite take a call with constant arguments out of its loop.
 * SQLITE_INNOCUOUS lets views call it even where the schema is not trusted. */
int extract_arg_create(struct query *q)
{
	return sqlite3_create_function_v2(q->db, "extract_arg", 2,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, q,
					  extract_field, NULL, NULL, NULL);
}
