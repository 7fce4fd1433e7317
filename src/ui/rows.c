/* SPDX-License-Identifier: MIT */
/* Prints a query's rows. A table's columns are as wide as the widest of its first ROWS_WAIT rows,
 * which wait for that; all later rows are printed as they come. Values come from traced programs:
 * struct out escapes them for terminals, CSV is quoted besides. Called by cmd/query.c and
 * answer_rows.c, on the main thread; `out` keeps a write error. */
#include "ui/rows.h"

#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/json.h"

#define ROWS_WAIT 1000u
#define COLUMN_MAX 120u /* a longer value stands out of its column */

void rows_init(struct rows *r, enum rows_form form, struct out *to)
{
	*r = (struct rows){ .form = form, .out = to };
}

/* --- table ------------------------------------------------------------------------------- */

/* Numbers stand to the right; the last column has no blanks behind it. */
static void put_cell(struct rows *r, unsigned column, const char *text, bool number)
{
	struct out *o = r->out;
	size_t width = escape_line_width(text), room = r->widths.at[column];
	unsigned blanks = width < room ? (unsigned)(room - width) : 0;

	if (number)
		out_spaces(o, blanks);
	out_foreign(o, text, strlen(text));
	if (column + 1 == r->n)
		out_char(o, '\n');
	else
		out_spaces(o, (number ? 0 : blanks) + 2);
}

/* A column is as wide as its widest value so far, and no wider than COLUMN_MAX. */
static void widen(struct rows *r, unsigned column, const char *text)
{
	size_t width = escape_line_width(text);

	width = width < COLUMN_MAX ? width : COLUMN_MAX;
	if (width > r->widths.at[column])
		r->widths.at[column] = (unsigned)width;
}

/* Prints the heading and the rows that wait. From here on the widths stay, and rows are printed as
 * they come. */
static void print_waiting(struct rows *r)
{
	if (r->wide || !r->n)
		return;
	r->wide = true;
	for (unsigned c = 0; c < r->n; c++) /* a heading stands where its first value does */
		put_cell(r, c, r->names.at[c],
			 r->waiting_numbers.n > c && r->waiting_numbers.at[c]);
	for (size_t i = 0; i < r->waiting.n; i++)
		put_cell(r, (unsigned)(i % r->n), r->waiting.at[i], r->waiting_numbers.at[i]);
}

/* Leaves *r without columns, ready for the next statement's. */
static void free_all(struct rows *r)
{
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.at[i]);
	for (size_t i = 0; i < r->waiting.n; i++)
		free(r->waiting.at[i]);
	vec_free(&r->names);
	vec_free(&r->waiting);
	vec_free(&r->waiting_numbers);
	vec_free(&r->widths);
	r->n = 0;
	r->wide = false;
}

void rows_end(struct rows *r)
{
	if (r->form == ROWS_TABLE)
		print_waiting(r);
	free_all(r);
}

/* NULL is an empty cell; CSV and JSON tell it from an empty text. */
static void table_row(struct rows *r, const struct query_value *values)
{
	for (unsigned c = 0; c < r->n; c++) {
		const char *text = values[c].text ? values[c].text : "";
		bool number = values[c].type == QUERY_NUMBER;

		if (r->wide) {
			put_cell(r, c, text, number);
			continue;
		}
		widen(r, c, text);
		*vec_add(&r->waiting) = mem_strdup(text);
		*vec_add(&r->waiting_numbers) = number;
	}
	if (!r->wide && r->waiting.n >= (size_t)ROWS_WAIT * r->n)
		print_waiting(r);
}

/* --- CSV and JSON ------------------------------------------------------------------------ */

/* RFC 4180: quotes around what has a comma, a quote or a line's end in it. */
static void put_csv(struct out *o, const char *text)
{
	if (!text)
		return;
	if (!text[strcspn(text, ",\"\r\n")]) {
		out_foreign(o, text, strlen(text));
		return;
	}
	out_char(o, '"');
	for (const char *p = text; *p; ) {
		size_t n = strcspn(p, "\"");

		out_foreign(o, p, n);
		p += n;
		if (*p == '"') {
			out_str(o, "\"\"");
			p++;
		}
	}
	out_char(o, '"');
}

/* In CSV, NULL is an empty field. */
static void csv_row(struct rows *r, const struct query_value *values)
{
	for (unsigned c = 0; c < r->n; c++) {
		put_csv(r->out, values[c].text);
		out_char(r->out, c + 1 < r->n ? ',' : '\n');
	}
}

/* Numbers that JSON cannot write (Inf) are null. */
static void put_json(struct out *o, const struct query_value *v)
{
	if (v->type == QUERY_TEXT)
		json_string(o, v->text);
	else if (v->type == QUERY_NUMBER && !strchr(v->text, 'I'))
		out_str(o, v->text);
	else
		out_str(o, "null");
}

static void json_row(struct rows *r, const struct query_value *values)
{
	struct out *o = r->out;

	for (unsigned c = 0; c < r->n; c++) {
		out_char(o, c ? ',' : '{');
		json_string(o, r->names.at[c]);
		out_char(o, ':');
		put_json(o, &values[c]);
	}
	out_str(o, "}\n");
}

/* --- the sink ---------------------------------------------------------------------------- */

/* Prints the columns' names; those of a table wait with its rows. */
static void put_heading(struct rows *r)
{
	struct out *o = r->out;

	if (r->form == ROWS_TABLE)
		return;
	if (r->form == ROWS_JSON)
		out_str(o, "{\"schema\":\"brace-query\",\"version\":1,\"columns\":[");
	for (unsigned c = 0; c < r->n; c++) {
		if (r->form == ROWS_JSON) {
			out_str(o, c ? "," : "");
			json_string(o, r->names.at[c]);
		} else {
			put_csv(o, r->names.at[c]);
			out_char(o, c + 1 < r->n ? ',' : '\n');
		}
	}
	if (r->form == ROWS_JSON)
		out_str(o, "]}\n");
}

static bool has_name(const struct rows *r, const char *name)
{
	for (size_t i = 0; i < r->names.n; i++)
		if (strcmp(r->names.at[i], name) == 0)
			return true;
	return false;
}

/* A JSON object keeps one value of a name: the second c.name is "name:1", as SQLite has it in
 * subqueries. */
static char *column_name(const struct rows *r, const char *name)
{
	char *own = mem_strdup(name);

	for (unsigned i = 1; r->form == ROWS_JSON && has_name(r, own); i++) {
		free(own);
		own = mem_printf("%s:%u", name, i);
	}
	return own;
}

/* The second statement's rows follow behind an empty line, in a table of their own. */
static int take_columns(void *arg, const char *const *names, unsigned n)
{
	struct rows *r = arg;

	if (r->n && r->form == ROWS_TABLE) {
		print_waiting(r);
		out_char(r->out, '\n');
	}
	free_all(r);
	r->n = n;
	for (unsigned c = 0; c < n; c++) {
		char *name = column_name(r, names[c]);

		*vec_add(&r->names) = name;
		*vec_add(&r->widths) = 0;
		widen(r, c, names[c]);
	}
	put_heading(r);
	return r->out->error;
}

/* query_sink.row: not 0 when the reader has left the pager, which ends the statement. */
static int take_row(void *arg, const struct query_value *values, unsigned n)
{
	static void (*const print[ROWS_FORMS_N])(struct rows *, const struct query_value *) = {
		[ROWS_TABLE] = table_row, [ROWS_CSV] = csv_row, [ROWS_JSON] = json_row,
	};
	struct rows *r = arg;

	print[r->form](r, values);
	return r->out->error;
}

const struct query_sink rows_sink = { take_columns, take_row };
