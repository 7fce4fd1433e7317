/* SPDX-License-Identifier: MIT */
/* sqlhist's statements over events:
 *
 *   SELECT item[, item...] FROM event [[AS] name] [JOIN event [[AS] name] ON a = b[, c = d...]]
 *          [WHERE condition[, condition...]]
 *
 * as the writes to ftrace's tree that they stand for: a histogram of one event, or of two events
 * histograms and a synthetic event. The grammar is libtracefs's (sqlhist.y); beyond it there are
 * AND, OR and NOT as words, negative numbers, strings in either kind of quotes, `SYSTEM:EVENT`, and
 * a semicolon at the end.
 *
 * A statement is *wide* if it has more than that: expressions, functions over groups, calls and
 * spans as tables, three and more tables, GROUP BY, HAVING, ORDER BY, LIMIT, EVERY, EXPIRE. It
 * becomes such writes, too, and for its groups a SELECT over the histogram's rows.
 *
 * No state; any thread. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "event/format.h"

#define SQL_JOINS_MAX 8u     /* pairs of ON; the keys of a histogram */
#define SQL_ITEMS_MAX 60u
#define SQL_DEPTH_MAX 64u    /* of parentheses */
#define SQL_TABLES_MAX 8u
#define SQL_NONE SIZE_MAX    /* no node, no expression */

/* Characters of the statement. */
struct sql_word { size_t at, n; };

enum sql_operator { SQL_FIELD, SQL_PLUS, SQL_MINUS };

/* A field, or a sum or difference of two; a label and a cast, n 0: none. */
struct sql_item {
	enum sql_operator operator;
	struct sql_word a, b, label, cast;
	uint64_t buckets;         /* of CAST(... AS BUCKETS=N) */
	size_t expr;              /* of a wide statement, in place of operator, a, b and cast */
};

enum sql_table_kind {
	SQL_EVENT,
	SQL_CALLS,                /* calls.FUNCTION: from its beginning to its return */
	SQL_SPAN,                 /* EVENT ~~ EVENT: from one to the other, of one thread, nested */
};

struct sql_table {
	struct sql_word event, name; /* name.n 0: none */
	enum sql_table_kind kind;
	struct sql_word until;    /* of SQL_SPAN: the second event */
	size_t matches;           /* of a wide statement: where its ON begins in `matches` */
};
struct sql_match { struct sql_word a, b; };

enum sql_test { SQL_AND, SQL_OR, SQL_NOT, SQL_COMPARE };

enum sql_function {
	SQL_COUNT, SQL_SUM, SQL_MIN, SQL_MAX, SQL_AVG, SQL_P50, SQL_P90, SQL_P95, SQL_P99,
	SQL_FUNCTIONS_N
};

enum sql_expr_kind {
	SQL_EXPR_FIELD, SQL_EXPR_NUMBER, SQL_EXPR_STRING, SQL_EXPR_CALL, SQL_EXPR_CAST,
	SQL_EXPR_BINARY, SQL_EXPR_NOT,
};

/* Expressions of a wide statement, by their numbers in it. */
struct sql_expr {
	enum sql_expr_kind kind;
	struct sql_word word;     /* the field, number or string; of the others where it begins */
	const char *operator;     /* of BINARY, as SQLite writes it */
	size_t a, b;              /* operands; of CALL a: SQL_NONE is `*` */
	int64_t number;
	enum sql_function function;
	struct sql_item cast;     /* of CAST: a, cast and buckets */
};

struct sql_order { size_t expr; bool descending; };

/* Nodes of conditions, by their numbers in the statement. */
struct sql_node {
	enum sql_test test;
	bool grouped;                         /* it stands in parentheses */
	size_t a, b;                          /* of AND, OR, NOT */
	struct sql_word field, operator, value; /* of COMPARE */
};

struct sql_statement {
	const char *text;
	VEC(struct sql_item) items;
	struct sql_table tables[SQL_TABLES_MAX]; /* FROM, JOIN */
	size_t n_tables;
	VEC(struct sql_match) matches;
	VEC(struct sql_node) nodes;
	VEC(size_t) conditions;               /* those that all have to hold */
	bool wide;                            /* the rest is of wide ones alone */
	VEC(struct sql_expr) exprs;
	VEC(size_t) groups;                   /* of GROUP BY; expressions */
	size_t having;                        /* an expression, or SQL_NONE */
	VEC(struct sql_order) orders;
	bool limited;
	uint64_t limit, every_ns, expire_ns;  /* times 0: none */
	struct sql_word within;               /* of WITHIN: the function; n 0: none */
};

/* Parses the text, which has to live as long as *out. Returns 0, and sql_free() frees it; or
 * -EINVAL and *err with the line of the text and the column in it. */
int sql_parse(const char *text, struct sql_statement *out, struct err *err);
void sql_free(struct sql_statement *s);

/* Options of sqlhist, asked besides the statement. */
struct sql_options {
	const char *name;         /* -n: of the synthetic event */
	const char *max, *change; /* -m, -c: the selected value by whose change is acted; or NULL */
	const char *save;         /* -s: fields, parted by commas; NULL: none */
	bool trace, snapshot;     /* -T, -S */
	/* Finds an event by its name, n characters. uses: the names of its fields that are used,
	 * parted by blanks. NULL: there is none, or *err is set. */
	const struct event_format *(*find)(void *arg, const char *name, size_t n, const char *uses,
					   struct err *err);
	void *arg;
};

/* One write: `echo TEXT >> FILE` in the tree, or `>`. */
struct sql_write { char *file, *text; bool append; };
struct sql_writes {
	VEC(struct sql_write) at;
	char *result;             /* "SYSTEM:EVENT" whose histogram, or records, answer */
	bool joins;               /* a synthetic event: its records */
	/* of a wide statement with groups: a SELECT over a table `answer`, whose rows are those of
	 * the histogram and whose columns are its keys k0, k1, ..., the hit count n, and its values
	 * v0, v1, ...; NULL: the histogram, or the records, are the answer */
	char *select;
	unsigned n_keys, n_values;
	uint64_t every_ns;        /* between two answers; 0: one, at the end */
	bool limited;             /* records: */
	uint64_t limit;           /* at most so many */
};

/* Translates. Returns 0, and sql_writes_free() frees *out; or -EINVAL and *err, as sql_parse(). */
int sql_translate(const struct sql_statement *s, const struct sql_options *o,
		  struct sql_writes *out, struct err *err);
void sql_writes_free(struct sql_writes *w);
