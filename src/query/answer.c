/* SPDX-License-Identifier: MIT */
/* Called by ui, on its thread. Cells are values, never parts of a statement: what a traced program
 * chose is no SQL. */
#include "query/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/table.h"

typedef VEC(char *) query_names;

/* A name in SQL's quotes. */
static void write_quoted(FILE *to, const char *name)
{
	fputc('"', to);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', to);
		fputc(*name, to);
	}
	fputc('"', to);
}

/* SQLite's names do not differ by case alone. */
static bool is_taken(const query_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcasecmp(names->at[i], name))
			return true;
	return false;
}

static void add_name(query_names *names, const char *name)
{
	char *own = mem_strdup(name);

	for (unsigned i = 1; is_taken(names, own); i++) {
		free(own);
		own = mem_printf("%s:%u", name, i);
	}
	*vec_add(names) = own;
}

static void free_names(query_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	vec_free(names);
}

/* Columns without types: cells keep theirs. */
static int create_table(struct query *q, const query_names *names)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	int r;

	for (size_t i = 0; i < names->n; i++) {
		fputs(i ? ", " : "CREATE TABLE answer (", to);
		write_quoted(to, names->at[i]);
	}
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
static int open_table(const query_names *names, struct query **out, struct err *err)
{
	struct query *q = mem_zalloc(sizeof(*q));
	int r = query_open_database(q);

	load_init(&q->load, NULL);
	if (r == SQLITE_OK)
		r = create_table(q, names);
	if (r == SQLITE_OK)
		r = prepare_insert(q, (unsigned)names->n);
	return query_opened(q, r, out, err);
}

int query_answer_open(unsigned keys, unsigned values, struct query **out, struct err *err)
{
	query_names names = { 0 };
	int r;

	for (unsigned i = 0; i < keys; i++)
		*vec_add(&names) = mem_printf("k%u", i);
	*vec_add(&names) = mem_strdup("n");
	for (unsigned i = 0; i < values; i++)
		*vec_add(&names) = mem_printf("v%u", i);
	r = open_table(&names, out, err);
	free_names(&names);
	return r;
}

int query_answer_open_named(const char *const *names, unsigned n, struct query **out,
			    struct err *err)
{
	query_names own = { 0 };
	int r;

	if (!n || n > QUERY_ANSWER_COLUMNS)
		return err_set(err, E2BIG, "an answer of %u columns is not kept: 1 to %d are", n,
			       QUERY_ANSWER_COLUMNS);
	for (unsigned i = 0; i < n; i++)
		add_name(&own, names[i]);
	r = open_table(&own, out, err);
	free_names(&own);
	return r;
}

/* SQLite has no unsigned numbers: a larger one is its digits. */
static int bind_cell(sqlite3_stmt *s, int i, const struct query_cell *c)
{
	char digits[32];

	if (c->text)
		return sqlite3_bind_text(s, i, c->text, -1, SQLITE_TRANSIENT);
	if (c->type == QUERY_CELL_REAL)
		return sqlite3_bind_double(s, i, c->real);
	if (c->type == QUERY_CELL_NULL)
		return sqlite3_bind_null(s, i);
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
