/* SPDX-License-Identifier: MIT */
/* Expressions of a wide statement in the words of histograms. Called by wide.c, wide_filter.c and
 * wide_select.c, on their thread. Parts that histograms do not have are refused, with their
 * place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/wide.h"

#define OPERATORS_MAX 3u  /* the kernel's, in one value */

/* Valid until the statement is freed. */
static const struct sql_expr *expr_at(const struct wide *w, size_t x)
{
	return &w->t.s->exprs.at[x];
}

/* The column's name, as `n` gives it. *column: which it is. */
static int write_column(struct wide *w, struct sql_word word, const struct wide_names *n, FILE *to,
			size_t *column)
{
	char *name;
	int e = wide_find_column(w, word, column);

	if (e)
		return e;
	name = n->name(n->arg, *column);
	fputs(name, to);
	free(name);
	return 0;
}

/* One node of the expression and all below it. Conditions and functions have no value in a
 * record. */
static int write_part(struct wide *w, size_t x, const struct wide_names *n, FILE *to,
		      unsigned *operators);

/* Numbers below 0 are not in the grammar of histograms. The negation is unsigned: that of INT64_MIN
 * does not fit in an int64_t. */
static void write_constant(int64_t number, FILE *to)
{
	if (number < 0)
		fprintf(to, "(0-%" PRIu64 ")", 0 - (uint64_t)number);
	else
		fprintf(to, "%" PRId64, number);
}

/* An operand that has operators itself stands in parentheses: the tree decides, not precedence. */
static int write_operand(struct wide *w, size_t x, const struct wide_names *n, FILE *to,
			 unsigned *operators)
{
	const struct sql_expr *e = expr_at(w, x);
	bool nested = e->kind == SQL_EXPR_BINARY;
	size_t column;
	int r;

	if (e->kind == SQL_EXPR_FIELD) {
		r = wide_find_column(w, e->word, &column);
		if (!r && (translate_is_text(&w->columns.at[column].field) ||
			   w->columns.at[column].field.stack))
			r = translate_fault(&w->t, e->word, "is a text: sums, differences, products "
					    "and quotients are of numbers");
		if (r)
			return r;
	}
	fputs(nested ? "(" : "", to);
	r = write_part(w, x, n, to, operators);
	fputs(nested ? ")" : "", to);
	return r;
}

/* operators counts those of the whole value, which the kernel bounds. (HIST_FIELD_EXPR:
 * parse_expr() of trace_events_hist.c refuses a deeper one, "Too many subexpressions (3 max)".) */
static int write_binary(struct wide *w, const struct sql_expr *e, const struct wide_names *n,
			FILE *to, unsigned *operators)
{
	int r;

	if (!strchr("+-*/", *e->operator))
		return translate_fault(&w->t, e->word, "a comparison stands behind WHERE or HAVING");
	if (++*operators > OPERATORS_MAX)
		return translate_fault(&w->t, e->word, "at most %u operators can be in one value of an "
				       "event; what functions give can have more", OPERATORS_MAX);
	r = write_operand(w, e->a, n, to, operators);
	fputs(e->operator, to);
	return r ? r : write_operand(w, e->b, n, to, operators);
}

/* Modifiers are those of keys. */
static int write_cast(struct wide *w, const struct sql_expr *e, const struct wide_names *n,
		      FILE *to, const unsigned *operators)
{
	char *modifier = NULL;
	size_t column;
	int r = 0;

	if (*operators)
		return translate_fault(&w->t, e->cast.a, "a CAST stands alone");
	r = write_column(w, e->cast.a, n, to, &column);
	if (!r && !translate_is_counter(&w->t, &e->cast))
		r = translate_cast(&w->t, &e->cast, &w->columns.at[column].field, &modifier);
	if (!r && modifier && !strcmp(modifier, ".execname") && w->n_sources > 1)
		r = translate_fault(&w->t, e->cast.a, "a JOIN keeps the number: select COMM, the name");
	if (!r)
		fputs(modifier ? modifier : "", to);
	free(modifier);
	return r;
}

static int write_part(struct wide *w, size_t x, const struct wide_names *n, FILE *to,
		      unsigned *operators)
{
	const struct sql_expr *e = expr_at(w, x);
	size_t column;

	switch (e->kind) {
	case SQL_EXPR_FIELD:
		return write_column(w, e->word, n, to, &column);
	case SQL_EXPR_NUMBER:
		write_constant(e->number, to);
		return 0;
	case SQL_EXPR_BINARY:
		return write_binary(w, e, n, to, operators);
	case SQL_EXPR_CAST:
		return write_cast(w, e, n, to, operators);
	default:
		return translate_fault(&w->t, e->word, "has no value in a record of an event");
	}
}

/* 0, or -EINVAL and the fault; what was written is then of no use. */
int wide_write_expr(struct wide *w, size_t x, const struct wide_names *n, FILE *to)
{
	unsigned operators = 0;

	return write_part(w, x, n, to, &operators);
}

/* The column that a field or cast is; SQL_NONE: it is an expression, or has a fault. */
size_t wide_column_of(struct wide *w, size_t x)
{
	const struct sql_expr *e = expr_at(w, x);
	size_t column = SQL_NONE;

	if (e->kind == SQL_EXPR_FIELD)
		wide_find_column(w, e->word, &column);
	else if (e->kind == SQL_EXPR_CAST)
		wide_find_column(w, e->cast.a, &column);
	return column;
}

/* An expression in parentheses has 64 bits, and the sign of its first operand (src/hist). */
char *wide_field(struct wide *w, size_t x, const char *name)
{
	size_t column = wide_column_of(w, x);

	if (column != SQL_NONE)
		return translate_field(&w->columns.at[column].field, name);
	while (expr_at(w, x)->kind == SQL_EXPR_BINARY)
		x = expr_at(w, x)->a;
	column = wide_column_of(w, x);
	if (column == SQL_NONE || w->columns.at[column].field.time)
		return mem_printf("u64 %s;", name);
	return mem_printf("%c64 %s;", w->columns.at[column].field.field->is_signed ? 's' : 'u', name);
}
