/* SPDX-License-Identifier: MIT */
/* SQL over any trace file that can be read: all tables are read and the indexes are used. */
#include "query/query.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define ROWS_MOST 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_columns(void *arg, const char *const *names, unsigned n)
{
	return 0;
}

static int take_row(void *arg, const struct query_value *values, unsigned n)
{
	size_t *rows = arg;

	for (unsigned i = 0; i < n; i++)
		if ((values[i].type == QUERY_NULL) != !values[i].text)
			abort();
	return ++*rows > ROWS_MOST;
}

/* All of them are good, whatever the trace: only reading it may fail. */
static const char *const statements[] = {
	"SELECT * FROM process JOIN thread USING (upid)",
	"SELECT * FROM metadata",
	"SELECT * FROM slice",
	"SELECT name, count(*), sum(dur), p99(dur) FROM slice GROUP BY name", /* by groups.c */
	"SELECT utid, track_id, avg(self), p50(ts), max(depth) FROM slice GROUP BY utid, track_id",
	"SELECT name, count(*), sum(dur), p99(dur) FROM slice WHERE 1 GROUP BY name",
	"SELECT * FROM slice WHERE ts > (SELECT min(ts) FROM slice) ORDER BY ts DESC",
	"SELECT c.id FROM slice p JOIN slice c ON c.parent_id = p.id WHERE p.depth < 2",
	"SELECT * FROM function",
	"SELECT * FROM ftrace_event JOIN args USING (arg_set_id)",
	"SELECT * FROM args WHERE arg_set_id = 1",
	"SELECT * FROM slice LEFT JOIN args USING (arg_set_id)",
	"SELECT EXTRACT_ARG(arg_set_id, 'retval'), EXTRACT_ARG(id, 'retval') FROM slice",
	"SELECT * FROM counter JOIN thread_counter_track t ON t.id = track_id",
	"SELECT * FROM thread_track",
};

static void ask(const uint8_t *bytes, size_t n)
{
	static const struct query_sink sink = { take_columns, take_row };
	struct store_description about;
	struct store_reader *r;
	struct query *q;
	struct err err;

	if (store_open_bytes("fuzz", bytes, n, &r, &err))
		return;
	store_describe(r, &about);
	if (about.records > ROWS_MOST || query_open(r, &q, &err)) {
		store_close(r);
		return;
	}
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		size_t rows = 0;

		query_run(q, statements[i], &sink, &rows, &err);
	}
	query_close(q);
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return trace_file_run(data, size, ask);
}
