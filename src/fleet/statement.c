/* SPDX-License-Identifier: MIT */
/* ui/fleet_query.c calls it, on the command's thread. A server that is away lacks in the rows and
 * is told to the caller; one that refuses, or has other columns than the first, ends the
 * question. */
#include "fleet/statement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/answer.h"

/* --- columns ----------------------------------------------------- */

enum column_kind { COLUMN_TEXT, COLUMN_WHOLE, COLUMN_SIGNED, COLUMN_REAL };

struct column_type { enum column_kind kind; bool nullable; };

/* Beginnings of ClickHouse's types; values of others are shown as it writes them. */
static const struct { const char *begin; enum column_kind kind; } kinds[] = {
	{ "UInt", COLUMN_WHOLE }, { "Int", COLUMN_SIGNED }, { "Float", COLUMN_REAL },
	{ "Decimal", COLUMN_REAL },
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Intervals begin as whole numbers do, but have no digits. LowCardinality stands outside of
 * Nullable. An array's type begins with its own word, so that it is text. */
static struct column_type column_of(const char *type)
{
	struct column_type c = { COLUMN_TEXT, false };

	if (begins(type, "LowCardinality("))
		type += strlen("LowCardinality(");
	c.nullable = begins(type, "Nullable(");
	if (c.nullable)
		type += strlen("Nullable(");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (begins(type, kinds[i].begin) && strpbrk(type, "0123456789"))
			c.kind = kinds[i].kind;
	return c;
}

/* A number of more bits than 64, and what is no number, stay the text that they are. NaN and
 * infinity of ClickHouse (nan, inf) are what strtod() reads, and an overflow of a real is its
 * infinity. */
static void read_number(const struct column_type *c, const char *field, struct query_cell *cell)
{
	char *end;

	errno = 0;
	if (c->kind == COLUMN_REAL) {
		cell->real = strtod(field, &end);
		cell->type = QUERY_CELL_REAL;
	} else {
		cell->is_signed = c->kind == COLUMN_SIGNED;
		cell->number = cell->is_signed ? (uint64_t)strtoll(field, &end, 10)
					       : strtoull(field, &end, 10);
	}
	if (end == field || *end || (errno && c->kind != COLUMN_REAL))
		*cell = (struct query_cell){ .text = field };
}

/* NULL is told before the escapes are undone: a text of the two characters comes as \\N. The cell
 * points into the field. */
static struct query_cell read_cell(const struct column_type *c, char *field)
{
	struct query_cell cell = { 0 };

	if (c->nullable && !strcmp(field, "\\N")) {
		cell.type = QUERY_CELL_NULL;
		return cell;
	}
	fleet_answer_unescape(field);
	if (c->kind == COLUMN_TEXT)
		cell.text = field;
	else
		read_number(c, field, &cell);
	return cell;
}

/* --- rows ----------------------------------------------------- */

static int bad_columns(struct err *err)
{
	return err_set(err, EPROTO, "its answer has rows of other columns than its heading");
}

/* The first answer's heading makes the table. Leaves names as they are. They are kept as the server
 * wrote them, and compared with other servers' as bytes. */
static int open_rows(struct fleet_rows *rows, const char *names, struct err *err)
{
	char *copy = mem_strdup(names), *at = copy;
	VEC(const char *) each = { 0 };
	int r;

	while (at) {
		char *name = fleet_answer_field(&at);

		fleet_answer_unescape(name);
		*vec_add(&each) = name;
	}
	r = query_answer_open_named(each.at, (unsigned)each.n, &rows->query, err);
	if (!r)
		rows->names = mem_strdup(names);
	vec_free(&each);
	free(copy);
	return r;
}

/* One row, of n columns. `cells` is the caller's room for n, used again for each row; texts in it
 * point into the line. 0, or -EPROTO and *err. */
static int take_row(struct fleet_rows *rows, const struct column_type *columns, unsigned n,
		    char *line, struct query_cell *cells, struct err *err)
{
	char *at = line;

	for (unsigned i = 0; i < n; i++) {
		if (!at)
			return bad_columns(err);
		cells[i] = read_cell(&columns[i], fleet_answer_field(&at));
	}
	if (at)
		return bad_columns(err);
	query_answer_add(rows->query, cells, n);
	rows->n++;
	return 0;
}

/* Each server's types are read anew, since servers of two versions may have two for one column.
 * Names have no tab of their own: they are escaped. 0, or -errno and *err. */
static int take_rows(struct fleet_rows *rows, char *types, char *text, struct err *err)
{
	VEC(struct column_type) columns = { 0 };
	char *names = rows->names, *line;
	unsigned n = 1;
	struct query_cell *cells;
	int r;

	for (; (names = strchr(names, '\t')); names++)
		n++;
	while (types)
		*vec_add(&columns) = column_of(fleet_answer_field(&types));
	cells = mem_zalloc(n * sizeof(*cells));
	r = columns.n == n ? 0 : bad_columns(err);
	while (!r && (r = fleet_answer_line(&text, &line, err)) > 0)
		r = take_row(rows, columns.at, n, line, cells, err);
	free(cells);
	vec_free(&columns);
	return r;
}

/* Changes the text. The first line has the names, the second the types
 * (TabSeparatedWithNamesAndTypes), each of the others is a row. */
int fleet_rows_take(struct fleet_rows *rows, char *text, struct err *err)
{
	char *names, *types;
	int r = fleet_answer_line(&text, &names, err);

	if (r > 0)
		r = fleet_answer_line(&text, &types, err);
	if (r <= 0)
		return r ? r : err_set(err, EPROTO, "its answer has no heading");
	if (!rows->names)
		r = open_rows(rows, names, err);
	else if (!strcmp(rows->names, names))
		r = 0;
	else
		r = err_set(err, EPROTO, "its answer has other columns than another server's");
	return r < 0 ? r : take_rows(rows, types, text, err);
}

void fleet_rows_free(struct fleet_rows *rows)
{
	query_close(rows->query);
	free(rows->names);
	*rows = (struct fleet_rows){ 0 };
}

/* --- the question ----------------------------------------------------- */

struct inquiry {
	const struct fleet_servers *servers;
	char *sql;
	struct fleet_rows rows;
};

/* A fleet_asker. An answer of a server that is not understood ends the question: half of its rows
 * may be in the table already. */
static int ask_server(void *arg, size_t server, struct err *err)
{
	struct inquiry *k = arg;
	char *text;
	int r = fleet_ask_to_read(k->servers, server, k->sql, &text, err);

	if (r)
		return r;
	if (fleet_rows_take(&k->rows, text, err))
		r = err_prefix(err, "%s is not to be trusted", k->servers->at.at[server].url);
	free(text);
	return r;
}

/* Without blanks and the semicolon with which it may end: a format is put behind it. */
static char *without_end(const char *sql)
{
	size_t n = strlen(sql);

	while (n && strchr(" \t\r\n;", sql[n - 1]))
		n--;
	return mem_strndup(sql, n);
}

/* A statement of the user's own says its limit itself (ui/fleet_query.c says so); -1 is no limit,
 * in SQLite. */
static int run_then(const struct fleet_statement *t, struct query *q, const struct query_sink *sink,
		    void *arg, struct err *err)
{
	char *all = mem_printf("SELECT * FROM answer LIMIT %" PRId64,
			       t->limit ? (int64_t)t->limit : -1);
	int r = query_run(q, t->then ? t->then : all, sink, arg, err);

	free(all);
	return r;
}

int fleet_statement_ask(const struct fleet_statement *t, const struct fleet_servers *s,
			const struct query_sink *sink, void *arg, struct fleet_answer *a,
			struct err *err)
{
	struct inquiry k = { .servers = s, .sql = without_end(t->sql) };
	int r = fleet_answer_all(s, ask_server, &k, a, err);

	a->rows = k.rows.n;
	if (!r)
		r = run_then(t, k.rows.query, sink, arg, err);
	fleet_rows_free(&k.rows);
	free(k.sql);
	return r;
}
