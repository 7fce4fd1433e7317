/* SPDX-License-Identifier: MIT */
/* Groups of a wide statement: which expressions are keys of the histogram, which are its values,
 * and the SELECT that makes the answer of its rows. Called by wide.c, on its thread. Groups that a
 * histogram cannot hold are refused, with their place. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hist/command.h"
#include "sql/wide.h"

/* Valid until the statement is freed. */
static const struct sql_expr *expr_at(const struct wide *w, size_t x)
{
	return &w->t.s->exprs.at[x];
}

/* Whether a function over groups is in the expression: count(*), or a _COUNTER_. */
bool wide_has_call(const struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);

	if (e->kind == SQL_EXPR_BINARY)
		return wide_has_call(w, e->a) || wide_has_call(w, e->b);
	if (e->kind == SQL_EXPR_NOT)
		return wide_has_call(w, e->a);
	return e->kind == SQL_EXPR_CALL ||
	       (e->kind == SQL_EXPR_CAST && translate_is_counter(&w->t, &e->cast));
}

/* --- equality --------------------------------------------------------------------------------- */

/* A number stands for the column: equal texts are equal expressions. */
static char *number_name(void *arg, size_t column)
{
	return mem_printf("c%zu", column);
}

/* The text by which expressions are compared, for free(); NULL: the fault. `a+b` and `a + b` are
 * one, for they are written anew; `b+a` is another. */
static char *text_of(struct wide *w, size_t x)
{
	const struct wide_names names = { number_name, NULL };
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	int e = wide_write_expr(w, x, &names, to);

	mem_stream_close(to, &text);
	if (!e)
		return text;
	free(text);
	return NULL;
}

/* 1: equal, 0, or -EINVAL. */
static int is_equal(struct wide *w, size_t x, size_t y)
{
	char *a = text_of(w, x), *b = a ? text_of(w, y) : NULL;
	int r = b ? !strcmp(a, b) : -EINVAL;

	free(a);
	free(b);
	return r;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* A label stands for what it labels. Only in GROUP BY, HAVING and ORDER BY (w->labels): in SELECT a
 * word is always a field, or `SELECT a+1 AS a` would lead into itself. */
static size_t behind_label(const struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);
	size_t i = w->labels && e->kind == SQL_EXPR_FIELD ? wide_labelled(w, e->word) : SQL_NONE;

	return i == SQL_NONE ? x : w->t.s->items.at[i].expr;
}

/* Adds a key of the groups, if it is not there. Faults of the expression are found here. */
static int add_key(struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);
	char *text;

	if (wide_has_call(w, x))
		return translate_fault(&w->t, e->word, "a function over groups makes no group");
	if (e->kind == SQL_EXPR_NUMBER)
		return translate_fault(&w->t, e->word, "a number is one for all: name a field");
	text = text_of(w, x);
	free(text);
	if (!text)
		return -EINVAL;
	for (size_t i = 0; i < w->keys.n; i++) {
		int r = is_equal(w, w->keys.at[i], x);

		if (r)
			return r < 0 ? r : 0;
	}
	if (w->keys.n == HIST_KEYS_MAX)
		return translate_fault(&w->t, e->word, "at most %u values make a group",
				       HIST_KEYS_MAX);
	*vec_add(&w->keys) = x;
	return 0;
}

/* Without GROUP BY, whatever is selected and is no function is a key, as in sqlhist. */
static int find_keys(struct wide *w)
{
	const struct sql_statement *s = w->t.s;
	int e = 0;

	w->labels = true;
	for (size_t i = 0; i < s->groups.n && !e; i++)
		e = add_key(w, behind_label(w, s->groups.at[i]));
	w->labels = false;
	for (size_t i = 0; i < s->items.n && !e && !s->groups.n; i++)
		if (!wide_has_call(w, s->items.at[i].expr) &&
		    expr_at(w, s->items.at[i].expr)->kind != SQL_EXPR_NUMBER)
			e = add_key(w, s->items.at[i].expr);
	return e;
}

/* The key's number; -1: it is none, or has a fault, which write_value() finds. The fault that was
 * told meanwhile is written over by that one. */
static int key_of(struct wide *w, size_t x)
{
	for (size_t i = 0; i < w->keys.n; i++)
		if (is_equal(w, w->keys.at[i], x) > 0)
			return (int)i;
	return -1;
}

/* --- values ----------------------------------------------------------------------------------- */

static const char *const modifiers[SQL_FUNCTIONS_N] = {
	[SQL_SUM] = "", [SQL_AVG] = "", [SQL_MIN] = "min", [SQL_MAX] = "max", [SQL_P50] = "p50",
	[SQL_P90] = "p90", [SQL_P95] = "p95", [SQL_P99] = "p99",
};

/* A fault, which is_equal() has told, counts as unequal: the value is its own first one then. */
size_t wide_first_value(struct wide *w, size_t i)
{
	size_t first = 0, x = w->values.at[i].argument;

	while (first < i && is_equal(w, w->values.at[first].argument, x) <= 0)
		first++;
	return first;
}

/* *out: the value's number. */
static int find_value(struct wide *w, struct sql_word at, size_t argument, const char *modifier,
		      size_t *out)
{
	for (*out = 0; *out < w->values.n; ++*out) {
		const struct wide_value *v = &w->values.at[*out];
		int r = strcmp(v->modifier, modifier) ? 0 : is_equal(w, v->argument, argument);

		if (r)
			return r < 0 ? r : 0;
	}
	if (w->values.n == HIST_VALUES_MAX)
		return translate_fault(&w->t, at, "at most %u different functions of values are kept "
				       "of a group", HIST_VALUES_MAX);
	*vec_add(&w->values) = (struct wide_value){ argument, modifier };
	return 0;
}

/* --- the SELECT ------------------------------------------------------------------------------- */

static int write_value(struct wide *w, size_t x, FILE *to);

/* Whether a function may have this argument: a number of a record. */
static int check_argument(struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);
	size_t column;
	int r;

	if (wide_has_call(w, x))
		return translate_fault(&w->t, e->word, "a function of a function: select the inner "
				       "one, and ask the answer again");
	if (e->kind == SQL_EXPR_CAST)
		return translate_fault(&w->t, e->word, "a CAST is for keys: a function takes the field "
				       "itself");
	if (e->kind != SQL_EXPR_FIELD)
		return 0;
	r = wide_find_column(w, e->word, &column);
	if (!r && (translate_is_text(&w->columns.at[column].field) ||
		   w->columns.at[column].field.stack))
		r = translate_fault(&w->t, e->word, "a text has no sum, least or largest: make it a "
				    "key, or count(*)");
	return r;
}

/* The mean is exact, the others are the histogram's own values. `* 1.0` makes SQLite divide as
 * reals do. Percentiles are those of the histogram's own buckets. */
static int write_call(struct wide *w, const struct sql_expr *e, FILE *to)
{
	size_t value;
	int r;

	if (e->function == SQL_COUNT) {
		fputs("n", to);
		return e->a == SQL_NONE || !wide_has_call(w, e->a) ? 0 : check_argument(w, e->a);
	}
	r = check_argument(w, e->a);
	if (!r)
		r = find_value(w, e->word, e->a, modifiers[e->function], &value);
	if (!r)
		fprintf(to, e->function == SQL_AVG ? "(v%zu * 1.0 / n)" : "v%zu", value);
	return r;
}

/* A CAST that is no key has a value in a group only if it is a _COUNTER_. */
static int write_cast(struct wide *w, size_t x, FILE *to)
{
	size_t value;
	int r;

	if (!translate_is_counter(&w->t, &expr_at(w, x)->cast))
		return translate_fault(&w->t, expr_at(w, x)->cast.a, "is not in GROUP BY with this CAST");
	r = find_value(w, expr_at(w, x)->word, x, "", &value);
	if (!r)
		fprintf(to, "v%zu", value);
	return r;
}

/* Each level in parentheses: precedence is the statement's, not SQLite's. The operator is one of
 * parse_wide.c's table, never the user's text: nothing of the statement reaches SQLite but numbers,
 * and strings and headings in quotes. */
static int write_binary(struct wide *w, const struct sql_expr *e, FILE *to)
{
	int r;

	fputc('(', to);
	r = write_value(w, e->a, to);
	fprintf(to, " %s ", e->operator);
	if (!r)
		r = write_value(w, e->b, to);
	fputc(')', to);
	return r;
}

/* SQLite's quotes are doubled in a string; \ means nothing to either. */
static void write_string(const struct wide *w, struct sql_word word, FILE *to)
{
	const char *at = w->t.s->text + word.at;

	fputc('\'', to);
	for (size_t i = 1; i + 1 < word.n; i++) {
		if (at[i] == '\'')
			fputc('\'', to);
		fputc(at[i], to);
	}
	fputc('\'', to);
}

/* SQLite's word for it. */
static int write_not(struct wide *w, const struct sql_expr *e, FILE *to)
{
	int r;

	fputs("(NOT ", to);
	r = write_value(w, e->a, to);
	fputc(')', to);
	return r;
}

/* A field that is not a key has no one value in a group. */
static int write_field(struct wide *w, size_t x, FILE *to)
{
	size_t behind = behind_label(w, x), column;
	int r;

	/* In what is labelled, the same word is a field. */
	if (behind != x) {
		w->labels = false;
		r = write_value(w, behind, to);
		w->labels = true;
		return r;
	}
	r = wide_find_column(w, expr_at(w, x)->word, &column);
	return r ? r : translate_fault(&w->t, expr_at(w, x)->word,
				       "is neither in GROUP BY nor in a function: a group has many");
}

/* Writes a value by the columns of `answer`. Comparisons are none of the histogram's. */
static int write_value(struct wide *w, size_t x, FILE *to)
{
	const struct sql_expr *e = expr_at(w, x);
	bool compared = e->kind == SQL_EXPR_BINARY && !strchr("+-*/", *e->operator);
	int key = compared || e->kind == SQL_EXPR_NOT || e->kind == SQL_EXPR_STRING ||
				  behind_label(w, x) != x || wide_has_call(w, x)
			  ? -1
			  : key_of(w, x);

	if (key >= 0) {
		fprintf(to, "k%d", key);
		return 0;
	}
	switch (e->kind) {
	case SQL_EXPR_NUMBER:
		fprintf(to, "%" PRId64, e->number);
		return 0;
	case SQL_EXPR_STRING:
		write_string(w, e->word, to);
		return 0;
	case SQL_EXPR_CALL:
		return write_call(w, e, to);
	case SQL_EXPR_CAST:
		return write_cast(w, x, to);
	case SQL_EXPR_BINARY:
		return write_binary(w, e, to);
	case SQL_EXPR_NOT:
		return write_not(w, e, to);
	default:
		return write_field(w, x, to);
	}
}

/* The heading: the label, or the item as it is written. */
static void write_heading(const struct wide *w, const struct sql_item *i, FILE *to)
{
	struct sql_word word = i->label.n ? i->label : i->a;

	fputs(" AS \"", to);
	for (size_t k = 0; k < word.n; k++) {
		char c = w->t.s->text[word.at + k];

		if (c == '"')
			fputc('"', to);
		fputc(strchr("\t\r\n", c) ? ' ' : c, to);
	}
	fputc('"', to);
}

/* The selected values by the columns of `answer`: kN, vN and n. */
static int write_items(struct wide *w, FILE *to)
{
	const struct sql_statement *s = w->t.s;
	bool calls = s->groups.n;
	int r = 0;

	for (size_t i = 0; i < s->items.n && !r; i++) {
		fputs(i ? ", " : "SELECT ", to);
		r = write_value(w, s->items.at[i].expr, to);
		write_heading(w, &s->items.at[i], to);
		calls |= wide_has_call(w, s->items.at[i].expr);
	}
	/* Rows of one event that asks for no function: what a histogram shows besides. */
	fputs(calls ? " FROM answer" : ", n AS \"hitcount\" FROM answer", to);
	return r;
}

/* Without ORDER BY nothing is written: rows come in the histogram's order. */
static int write_order(struct wide *w, FILE *to)
{
	const struct sql_statement *s = w->t.s;
	int r = 0;

	for (size_t i = 0; i < s->orders.n && !r; i++) {
		fputs(i ? ", " : " ORDER BY ", to);
		r = write_value(w, s->orders.at[i].expr, to);
		fputs(s->orders.at[i].descending ? " DESC" : "", to);
	}
	return r;
}

/* HAVING is a WHERE here: the groups are made already. */
static int write_select(struct wide *w, FILE *to)
{
	const struct sql_statement *s = w->t.s;
	int r = write_items(w, to);

	w->labels = true;
	if (!r && s->having != SQL_NONE) {
		fputs(" WHERE ", to);
		r = write_value(w, s->having, to);
	}
	if (!r)
		r = write_order(w, to);
	if (!r && s->limited)
		fprintf(to, " LIMIT %" PRIu64, s->limit <= INT64_MAX ? s->limit : INT64_MAX);
	return r;
}

/* Sets w->keys, w->values and w->select. 0, or -EINVAL and the fault. */
int wide_group(struct wide *w)
{
	size_t n;
	FILE *to;
	int r = find_keys(w);

	if (r)
		return r;
	to = mem_stream(&w->select, &n);
	r = write_select(w, to);
	mem_stream_close(to, &w->select);
	return r;
}
