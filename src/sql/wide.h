/* SPDX-License-Identifier: MIT */
/* A wide statement that is being translated: shared by wide.c (joins, conditions, the writes),
 * wide_columns.c (tables, and what words mean) and wide_select.c (groups).
 *
 * Tables become *sources*, events in the order in which they are joined: calls and spans have two.
 * Stage k joins what the sources before number k gave with source k, by a synthetic event; the last
 * one's is the answer, or has its groups. */
#pragma once
#include "sql/internal.h"

#define WIDE_SOURCES_MAX 8u   /* as many synthetic events as a record may cause, and one */
#define WIDE_FRAME "__frame"  /* of a call: the address behind its return address */
#define WIDE_SIZE "131072"    /* entries: the most that there can be */

struct wide_source {
	const struct sql_table *table;
	bool second;              /* the end of calls or of a span */
	const struct event_format *event;
	char *uses;
};

/* A value that a source has. */
struct wide_column {
	size_t source;
	struct named_field field; /* its name is the column's */
	bool duration;            /* of calls and spans: of the source that ends them */
	size_t needed;            /* the last stage that reads it */
};

/* A value of an entry: of a histogram's `vals=`. */
struct wide_value {
	size_t argument;          /* expression; SQL_NONE: the hit count */
	const char *modifier;     /* "p99"; "": the sum */
};

struct wide {
	struct translation t;
	struct wide_source sources[WIDE_SOURCES_MAX];
	size_t n_sources, first[SQL_TABLES_MAX]; /* first: a table's source */
	VEC(struct wide_column) columns;
	bool grouped;
	bool labels;              /* words may be labels now: behind GROUP BY, HAVING, ORDER BY */
	VEC(size_t) keys;         /* expressions */
	VEC(struct wide_value) values;
	unsigned variables;       /* numbers of names */
	const struct event_format *opens, *closes; /* of WITHIN: the function's */
	char *open;               /* the variable that is set while it is open; NULL: none */
	char *select;
};

/* Finds an event: of a function, if calls, at its beginning or its return. */
int wide_find_event(struct wide *w, struct sql_word word, bool calls, bool second,
		    const char *uses, const struct event_format **out);
/* Finds the sources and their events. 0, or -EINVAL and the fault, as all below. */
int wide_find_sources(struct wide *w);
void wide_free_sources(struct wide *w);
/* Finds the column that the word names; *out: its number. */
int wide_find_column(struct wide *w, struct sql_word word, size_t *out);
/* The column of the source with that name in histograms, made if there is none yet. */
size_t wide_column(struct wide *w, size_t source, const char *name);
/* The column's name as a field of records, for free(): without a modifier, and that of what a copy
 * is of. */
char *wide_shown_name(const struct wide *w, size_t column);
/* The item with the label; SQL_NONE: there is none. */
size_t wide_labelled(const struct wide *w, struct sql_word word);

/* Whether the expression has a function over groups in it. */
bool wide_has_call(const struct wide *w, size_t x);
/* The first value that has the argument of value i: they share a field. */
size_t wide_first_value(struct wide *w, size_t i);
/* Finds keys and values, and makes w->select. */
int wide_group(struct wide *w);
/* Writes an expression of columns, each by name(arg, column). At most three operators. */
struct wide_names { char *(*name)(void *arg, size_t column); void *arg; };
int wide_write_expr(struct wide *w, size_t x, const struct wide_names *n, FILE *to);
/* The column that a field or cast is; SQL_NONE: it is an expression, or has a fault. */
size_t wide_column_of(struct wide *w, size_t x);
/* Notes that the column is read at the stage. */
void wide_need(struct wide *w, size_t column, size_t stage);
/* A column's name in the last event, for free(); arg: the struct wide. */
char *wide_field_name(void *arg, size_t column);
/* Makes filters of the conditions: filters[source] of events whose records come in, *last of the
 * last event; what that needs is noted. Before stages are made. */
int wide_sort_conditions(struct wide *w, char **filters, char **last);
/* "TYPE NAME;" of a synthetic event's field that has the expression's values; NULL: the fault. */
char *wide_field(struct wide *w, size_t x, const char *name);
