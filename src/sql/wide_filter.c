/* SPDX-License-Identifier: MIT */
/* Conditions of a wide statement: as filters of its events, or of the last one that it makes.
 * Called by wide.c, on its thread. Conditions that filters do not have are refused, with their
 * place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/wide.h"

/* Whether all fields of the condition are of one event's records; *source: whose. A condition on
 * calls and spans waits for their end: a record that is left out would leave the other one of the
 * pair to meet a stranger. */
static int is_early(struct wide *w, size_t node, size_t *source, bool *early)
{
	const struct sql_node *n = &w->t.s->nodes.at[node];
	size_t column;
	int e;

	if (n->test != SQL_COMPARE) {
		e = is_early(w, n->a, source, early);
		return e || n->test == SQL_NOT ? e : is_early(w, n->b, source, early);
	}
	e = wide_find_column(w, n->field, &column);
	if (e)
		return e;
	if (w->columns.at[column].field.stack)
		return translate_fault(&w->t, n->field, "a stack is no value to compare");
	if (*source == SQL_NONE)
		*source = w->columns.at[column].source;
	*early &= *source == w->columns.at[column].source && !w->columns.at[column].field.time &&
		  w->sources[*source].table->kind == SQL_EVENT;
	return 0;
}

/* The label of a selected field that is the column; n 0: none. */
static struct sql_word label_of(struct wide *w, size_t column)
{
	const struct sql_statement *s = w->t.s;

	for (size_t i = 0; i < s->items.n && !w->grouped; i++)
		if (s->items.at[i].label.n && wide_column_of(w, s->items.at[i].expr) == column)
			return s->items.at[i].label;
	return (struct sql_word){ 0, 0 };
}

/* A column's name in the last event: of a record's own if it is selected, by its number else. */
char *wide_field_name(void *arg, size_t column)
{
	struct wide *w = arg;
	const struct sql_statement *s = w->t.s;
	struct sql_word label = label_of(w, column);

	if (w->n_sources == 1)
		return mem_strdup(w->columns.at[column].field.name);
	if (label.n)
		return mem_strndup(s->text + label.at, label.n);
	for (size_t i = 0; i < s->items.n && !w->grouped; i++)
		if (wide_column_of(w, s->items.at[i].expr) == column)
			return wide_shown_name(w, column);
	return mem_printf("c%zu", column);
}

/* "FIELD OP VALUE" over an event's record: of the last synthetic event, if deferred. */
static int write_compare(struct wide *w, const struct sql_node *n, bool deferred, FILE *to)
{
	const char *text = w->t.s->text, *operator= text + n->operator.at;
	bool one = n->operator.n == 1;
	size_t column;
	int e = wide_find_column(w, n->field, &column);
	char *name;

	if (e)
		return e;
	if (w->columns.at[column].field.time && !deferred)
		return translate_fault(&w->t, n->field, "is no field of a record: HAVING max(%.*s)",
				       (int)n->field.n, text + n->field.at);
	name = deferred ? wide_field_name(w, column) : mem_strdup(w->columns.at[column].field.name);
	fprintf(to, one && *operator== '~' ? "%s%.*s%s" : "%s %.*s%s ", name, (int)n->operator.n,
		operator, one && *operator== '=' ? "=" : "");
	free(name);
	if (text[n->value.at] == '\'' || text[n->value.at] == '"')
		fprintf(to, "\"%.*s\"", (int)n->value.n - 2, text + n->value.at + 1);
	else
		e = translate_write_number(&w->t, n->value, to);
	if (!e && deferred)
		wide_need(w, column, w->n_sources - 1);
	return e;
}

/* Each level has parentheses of its own. So conditions can be joined by && without a look at their
 * operators. */
static int write_condition(struct wide *w, size_t node, bool deferred, FILE *to)
{
	const struct sql_node *n = &w->t.s->nodes.at[node];
	int e;

	if (n->test == SQL_COMPARE)
		return write_compare(w, n, deferred, to);
	fputs(n->test == SQL_NOT ? "!(" : "(", to);
	e = write_condition(w, n->a, deferred, to);
	if (!e && n->test != SQL_NOT) {
		fputs(n->test == SQL_AND ? " && " : " || ", to);
		e = write_condition(w, n->b, deferred, to);
	}
	fputc(')', to);
	return e;
}

/* Each condition goes to the event whose fields alone it has, as early as it can; others wait
 * for the last event. */
int wide_sort_conditions(struct wide *w, char **filters, char **last)
{
	int e = 0;

	for (size_t i = 0; i < w->t.s->conditions.n && !e; i++) {
		size_t source = SQL_NONE, n, node = w->t.s->conditions.at[i];
		bool early = true;
		char *text;
		FILE *to;

		e = is_early(w, node, &source, &early);
		if (e)
			return e;
		early |= w->n_sources == 1;
		to = mem_stream(&text, &n);
		e = write_condition(w, node, !early, to);
		mem_stream_close(to, &text);
		translate_append(early ? &filters[source] : last, " && ", text);
		free(text);
	}
	return e;
}
