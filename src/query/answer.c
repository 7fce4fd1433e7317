/* SPDX-License-Identifier: MIT */
/* Called by ui, on its thread. Cells are values, never parts of a statement: what a traced program
 * chose is no SQL. */
#include "query/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "query/table.h"

/* "NAME0, NAME1, ...", and a comma before if something is there. */
static void write_columns(FILE *to, char name, unsigned n, bool more)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%s%c%u", more || i ? ", " : "", name, i);
}

/* Columns without types: cells keep theirs. */
static int create_table(struct query *q, unsigned keys, unsigned values)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	int r;

	fputs("CREATE TABLE answer (", to);
	write_columns(to, 'k', keys, false);
	fputs(keys ? ", n" : "n", to);
	write_columns(to, 'v', values, true);
	fputs(")", to);
	mem_stream_close(to, &text);
	r = sqlite3_exec(q->db, text, NULL, NULL, NULL);
	free(text);
	return r;
}

/* The statement that adds a row, n cells. */
static int prepare_insert(struct query *q, unsigned n)
{
	char *text;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);
	int r;

	fputs("INSERT INTO answer VALUES (?", to);
	for (unsigned i = 1; i < n; i++)
		fputs(", ?", to);
	fputs(")", to);
	mem_stream_close(to, &text);
	r = sqlite3_prepare_v2(q->db, text, -1, &q->insert, NULL);
	free(text);
	return r;
}

/* A database in memory alone, with one empty table. *out only if 0 is returned. */
int query_answer_open(unsigned keys, unsigned values, struct query **out, struct err *err)
{
	struct query *q = mem_zalloc(sizeof(*q));
	int r = query_open_database(q);

	load_init(&q->load, NULL);
	if (r == SQLITE_OK)
		r = create_table(q, keys, values);
	if (r == SQLITE_OK)
		r = prepare_insert(q, keys + 1 + values);
	return query_opened(q, r, out, err);
}

/* SQLite has no unsigned numbers: a larger one is its digits. */
static int bind_cell(sqlite3_stmt *s, int i, const struct query_cell *c)
{
	char digits[32];

	if (c->text)
		return sqlite3_bind_text(s, i, c->text, -1, SQLITE_TRANSIENT);
	if (c->is_signed || c->number <= INT64_MAX)
		return sqlite3_bind_int64(s, i, (int64_t)c->number);
	snprintf(digits, sizeof(digits), "%" PRIu64, c->number);
	return sqlite3_bind_text(s, i, digits, -1, SQLITE_TRANSIENT);
}

/* A failure is kept, and told when the answer is asked. */
void query_answer_add(struct query *q, const struct query_cell *cells, unsigned n)
{
	int r = SQLITE_OK;

	for (unsigned i = 0; i < n && r == SQLITE_OK; i++)
		r = bind_cell(q->insert, (int)i + 1, &cells[i]);
	if (r == SQLITE_OK)
		r = sqlite3_step(q->insert);
	if (r != SQLITE_DONE && !q->err.code)
		err_set(&q->err, ENOMEM, "cannot keep the rows: %s", sqlite3_errstr(r));
	sqlite3_reset(q->insert);
}
