/* SPDX-License-Identifier: MIT */
/* Any bytes as a statement: it is refused with a sentence and a column in the line that is shown,
 * or makes writes, of which a synthetic event can be taken apart again or is refused; a SELECT over
 * groups is one that SQLite takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "event/synthetic.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct event_field fields[] = {
	{ "int", "a", 8, 4, true },		{ "char[8]", "s", 12, 8, false },
	{ "__data_loc char[]", "d", 20, 4, false }, { "pid_t", "pid", 24, 4, true },
	{ "unsigned long", "l", 32, 8, false }, { "unsigned long[6]", "array", 40, 48, false },
	{ "u64", "__frame", 88, 8, false },
};
static const struct event_format events[] = { { "fuzz", "one", 1, fields, 7, "" },
					       { "fuzz", "two", 2, fields, 4, "" } };

/* sql_options.find */
static const struct event_format *find(void *arg, const char *name, size_t n, const char *uses, struct err *err)
{
	if (strlen(uses) > SIZE_MAX / 2)
		abort();
	if (n && name[0] == 'f')
		err_at(err, EINVAL, "fuzz", 0, "refused");
	/* Calls have frames: both ends are events of the first kind. */
	if (n > 6 && !strncmp(name, "calls.", 6))
		return name[6] == 'e' ? &events[0] : NULL;
	return n && name[0] == 'e' ? &events[n % 2] : NULL;
}

static void check_err(const struct err *err)
{
	if (!*err->text || (*err->input && err->column > strlen(err->input)))
		abort();
}

static void check_writes(const struct sql_writes *w)
{
	struct synthetic_command c;
	struct err err;

	if (!w->at.n || !w->result)
		abort();
	for (size_t i = 0; i < w->at.n; i++) {
		const char *text = w->at.at[i].text;

		if (strncmp(text, "hist:keys=", 10) && strncmp(text, "s:", 2) &&
		    !strstr(w->at.at[i].file, "/filter"))
			abort();
		if (!strncmp(text, "s:", 2) && synthetic_command_parse_dynamic(text, &c, &err) == 0)
			synthetic_command_free(&c);
	}
}

/* Only what SQLite has no room for, or a column that ORDER BY numbers, may be refused. */
static void check_select(const char *select)
{
	static sqlite3 *db;
	sqlite3_stmt *s;

	if (!db && (sqlite3_open(":memory:", &db) ||
		    sqlite3_exec(db, "CREATE TABLE answer (k0, k1, k2, k3, k4, k5, k6, k7, n, v0, v1, v2, v3, v4, v5, v6, v7)",
				 NULL, NULL, NULL)))
		abort();
	if (sqlite3_prepare_v2(db, select, -1, &s, NULL) != SQLITE_OK &&
	    !strstr(sqlite3_errmsg(db), "too large") && !strstr(sqlite3_errmsg(db), "ORDER BY term") &&
	    !strstr(sqlite3_errmsg(db), "too many") && !strstr(sqlite3_errmsg(db), "stack overflow"))
		abort();
	sqlite3_finalize(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned bits = n ? data[0] : 0;
	char *text = mem_strndup((const char *)data + (n > 0), n ? n - 1 : 0);
	const struct sql_options o = { .name = "made", .max = bits & 1 ? "lat" : NULL, .change = bits & 2 ? "lat" : NULL,
				       .save = bits & 4 ? "a" : NULL, .trace = bits & 8, .snapshot = bits & 16, .find = find };
	struct sql_statement s;
	struct sql_writes w;
	struct err err = { 0 };

	if (sql_parse(text, &s, &err) < 0) {
		check_err(&err);
	} else {
		if (sql_translate(&s, &o, &w, &err) < 0) {
			check_err(&err);
		} else {
			check_writes(&w);
			if (w.select)
				check_select(w.select);
			sql_writes_free(&w);
		}
		sql_free(&s);
	}
	free(text);
	return 0;
}
