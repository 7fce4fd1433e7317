/* SPDX-License-Identifier: MIT */
/* The table `args`. Rows of events come first, then those of calls, so that the number of the set
 * never falls by row. Called by tables.c and extract_arg.c, on the query's thread. Only args_need()
 * fails. */
#include "query/args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* The records first: their formats say how many fields there are. */
int args_need(struct query *q)
{
	int r = tables_need_records(q);

	r = r ? r : event_values_make(&q->values, &q->load, &q->err);
	return r ? r : call_values_make(&q->call_values, &q->load, &q->err);
}

static size_t of_events(const struct query *q)
{
	return event_values_n(&q->values, &q->load);
}

size_t args_n(const struct query *q)
{
	return of_events(q) + call_values_n(&q->call_values);
}

uint64_t args_set_of_call(const struct query *q, size_t slice)
{
	return (uint64_t)load_events_n(&q->load) + slice;
}

/* Fields are numbered event by event, values call by call. */
uint64_t args_set(const struct query *q, size_t row)
{
	size_t event;

	if (row >= of_events(q))
		return args_set_of_call(
			q, call_values_rows(&q->call_values)[row - of_events(q)].slice);
	event_values_field(&q->values, &q->load, row, &event);
	return event;
}

static void give_text(sqlite3_context *to, const char *s)
{
	sqlite3_result_text(to, s, -1, SQLITE_STATIC);
}

/* --- of events --------------------------------------------------------------------------- */

/* TRANSIENT: the text lies in the record's payload, which may be moved by the next load. */
static void give_field(sqlite3_context *to, const struct event_value *v)
{
	if (v->kind == EVENT_VALUE_NUMBER)
		sqlite3_result_int64(to, v->number);
	else if (v->kind == EVENT_VALUE_TEXT)
		sqlite3_result_text(to, v->text, (int)v->text_bytes, SQLITE_TRANSIENT);
}

static void field_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	static const char *const types[EVENT_VALUE_TEXT + 1] = {
		[EVENT_VALUE_NUMBER] = "int", [EVENT_VALUE_TEXT] = "string",
	};
	size_t event;
	const struct event_field *f = event_values_field(&q->values, &q->load, row, &event);
	struct event_value v = event_value_of(&q->load, event, f);

	/* display_value has any type; the others are NULL where the value has another one. */
	if (column == ARGS_KEY || column == ARGS_FLAT)
		give_text(to, f->name);
	else if (column == ARGS_TYPE)
		give_text(to, types[v.kind]);
	else if (column == ARGS_DISPLAY || (column == ARGS_INT && v.kind == EVENT_VALUE_NUMBER) ||
		 (column == ARGS_STRING && v.kind == EVENT_VALUE_TEXT))
		give_field(to, &v);
}

/* The format is NULL where the trace's text of it cannot be read: the event has no fields then. */
static void give_field_named(struct query *q, size_t event, const char *key, sqlite3_context *to)
{
	const struct event_format *f = q->values.formats.at[load_events(&q->load)[event].event];
	struct event_value v;

	for (size_t i = 0; f && i < f->n; i++)
		if (!strcmp(f->fields[i].name, key)) {
			v = event_value_of(&q->load, event, &f->fields[i]);
			give_field(to, &v);
			return;
		}
}

/* --- of calls ---------------------------------------------------------------------------- */

/* Perfetto's word for the type, and the column that has such values; of none it is ARGS_ID. */
struct value_form { const char *type; enum args_column column; };
static const struct value_form forms[ARGUMENT_KINDS_N] = {
	[ARGUMENT_UNKNOWN] = { "null", ARGS_ID }, [ARGUMENT_FAULT] = { "null", ARGS_ID },
	[ARGUMENT_SIGNED] = { "int", ARGS_INT }, [ARGUMENT_UNSIGNED] = { "uint", ARGS_INT },
	[ARGUMENT_BOOL] = { "bool", ARGS_INT }, [ARGUMENT_POINTER] = { "pointer", ARGS_INT },
	[ARGUMENT_FLOAT] = { "real", ARGS_REAL }, [ARGUMENT_TEXT] = { "string", ARGS_STRING },
	[ARGUMENT_NAME] = { "string", ARGS_STRING }, [ARGUMENT_OPEN] = { "null", ARGS_ID },
	[ARGUMENT_CLOSE] = { "null", ARGS_ID }, [ARGUMENT_LIST] = { "null", ARGS_ID },
	[ARGUMENT_LIST_END] = { "null", ARGS_ID },
};

/* The value as a type of SQL's. */
static void give_value(struct query *q, const struct call_value_row *v, sqlite3_context *to)
{
	double real;

	switch (forms[v->kind].column) {
	case ARGS_INT:
		sqlite3_result_int64(to, (sqlite3_int64)v->number);
		break;
	case ARGS_REAL:
		memcpy(&real, &v->number, sizeof(real));
		sqlite3_result_double(to, real);
		break;
	case ARGS_STRING:
		sqlite3_result_text(to, call_values_text(&q->call_values, v), (int)v->bytes,
				    SQLITE_STATIC);
		break;
	default:
		break;
	}
}

/* As a reader sees it: what goes on ends in "...". */
static void give_display(struct query *q, const struct call_value_row *v, sqlite3_context *to)
{
	char text[32];

	if (v->kind == ARGUMENT_FAULT || v->kind == ARGUMENT_UNKNOWN)
		give_text(to, v->kind == ARGUMENT_FAULT ? "(fault)" : v->more ? "..." : "?");
	else if (v->kind == ARGUMENT_BOOL)
		give_text(to, v->number ? "true" : "false");
	else if (v->kind == ARGUMENT_TEXT && v->more)
		sqlite3_result_text(to,
				    mem_printf("%.*s...", (int)v->bytes,
					       call_values_text(&q->call_values, v)),
				    -1, free);
	else if (v->kind == ARGUMENT_FLOAT || v->kind == ARGUMENT_TEXT || v->kind == ARGUMENT_NAME)
		sqlite3_result_text(to, call_values_text(&q->call_values, v), (int)v->bytes,
				    SQLITE_STATIC);
	else {
		snprintf(text, sizeof(text), v->kind == ARGUMENT_POINTER    ? "0x%" PRIx64
					     : v->kind == ARGUMENT_UNSIGNED ? "%" PRIu64
									    : "%" PRId64,
			 v->number);
		sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
	}
}

static void value_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	const struct call_value_row *v = &call_values_rows(&q->call_values)[row];
	const struct call_value_key *key = &q->call_values.keys.at[v->key];

	if (column == ARGS_KEY)
		give_text(to, key->key);
	else if (column == ARGS_FLAT)
		give_text(to, key->flat);
	else if (column == ARGS_TYPE)
		give_text(to, forms[v->kind].type);
	else if (column == ARGS_DISPLAY)
		give_display(q, v, to);
	else if ((int)forms[v->kind].column == column)
		give_value(q, v, to);
}

static void give_value_named(struct query *q, size_t slice, const char *key, sqlite3_context *to)
{
	const struct values_of_calls *c = &q->call_values;

	for (size_t i = call_values_first(c, slice);
	     i < call_values_n(c) && call_values_rows(c)[i].slice == slice; i++)
		if (!strcmp(c->keys.at[call_values_rows(c)[i].key].key, key)) {
			give_value(q, &call_values_rows(c)[i], to);
			return;
		}
}

/* --- both -------------------------------------------------------------------------------- */

void args_column(struct query *q, size_t row, int column, sqlite3_context *to)
{
	if (column == ARGS_SET)
		sqlite3_result_int64(to, (sqlite3_int64)args_set(q, row));
	else if (row < of_events(q))
		field_column(q, row, column, to);
	else
		value_column(q, row - of_events(q), column, to);
}

void args_give(struct query *q, int64_t set, const char *key, sqlite3_context *to)
{
	const size_t events = load_events_n(&q->load);

	if (set >= 0 && (size_t)set < events)
		give_field_named(q, (size_t)set, key, to);
	else if (set >= 0 && (size_t)set - events < load_slices_n(&q->load))
		give_value_named(q, (size_t)set - events, key, to);
}
