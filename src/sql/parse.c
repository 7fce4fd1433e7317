/* SPDX-License-Identifier: MIT */
/* The grammar of sqlhist, by recursive descent over the text itself: a word is a place in it, and
 * nothing is copied. The first fault ends the parsing; its caret is at the word that does not fit.
 * parse_wide.c shares its clauses. ui/statement.c calls sql_parse(); any thread, no state but the
 * caller's. Faults are a place and a sentence. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/internal.h"

/* --- what is selected ------------------------------------------------------------------------- */

/* TYPE of a CAST, and the parenthesis behind it. "sym-offset" and "buckets=N" are several words
 * of the text. */
int parse_cast_type(struct sql_scan *p, struct sql_item *i)
{
	int e = token_name(p, &i->cast, "a type");

	if (e)
		return e;
	if (token_is(p, "-")) {
		token_next(p);
		if (!token_is_word(p, "offset"))
			return token_refuse(p, "offset, of sym-offset,");
		i->cast.n = p->word.at + p->word.n - i->cast.at;
		token_next(p);
	} else if (token_takes(p, "=")) {
		if (p->token != TOKEN_NUMBER)
			return token_refuse(p, "the width of a bucket");
		i->buckets = strtoull(p->s->text + p->word.at, NULL, 0);
		token_next(p);
	}
	return token_take(p, ")", "the ) of CAST");
}

/* "CAST(FIELD AS TYPE)" behind its first word. */
static int parse_cast(struct sql_scan *p, struct sql_item *i)
{
	int e = token_take(p, "(", "( behind CAST");

	if (!e)
		e = token_name(p, &i->a, "a field");
	if (!e && !token_takes_word(p, "AS"))
		e = token_refuse(p, "AS");
	return e ? e : parse_cast_type(p, i);
}

/* "FIELD", "FIELD + FIELD", "FIELD - FIELD" */
static int parse_sum(struct sql_scan *p, struct sql_item *i)
{
	int e = token_name(p, &i->a, "a field");

	if (e)
		return e;
	if (!token_is(p, "+") && !token_is(p, "-"))
		return 0;
	i->operator = token_is(p, "+") ? SQL_PLUS : SQL_MINUS;
	token_next(p);
	return token_name(p, &i->b, "a second field");
}

/* One of the values that are selected, with its label. Parentheses stand around a sum only. */
static int parse_item(struct sql_scan *p)
{
	struct sql_item i = { 0 };
	int e = token_item(p);

	if (e)
		return e;
	if (token_takes_word(p, "CAST")) {
		e = parse_cast(p, &i);
	} else if (token_takes(p, "(")) {
		e = parse_sum(p, &i);
		if (!e)
			e = token_take(p, ")", ")");
	} else {
		e = parse_sum(p, &i);
	}
	if (!e)
		e = token_label(p, &i.label);
	if (!e)
		*vec_add(&p->s->items) = i;
	return e;
}

/* Values, parted by commas: one at least. */
static int parse_items(struct sql_scan *p)
{
	int e;

	do
		e = parse_item(p);
	while (!e && token_takes(p, ","));
	return e;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* An event and its label. A SELECT in its place is refused with the way that there is. */
static int parse_table(struct sql_scan *p)
{
	struct sql_table *t = &p->s->tables[p->s->n_tables++];
	int e;

	if (token_is(p, "("))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "a table is an event: give a SELECT a name with -n, and select FROM "
				 "that in a second statement");
	e = token_name(p, &t->event, "an event");
	return e ? e : token_label(p, &t->name);
}

/* "A.FIELD = B.FIELD", also for wide statements. Which side is which event's is found when the
 * events are known. */
int parse_match(struct sql_scan *p)
{
	struct sql_match m;
	int e = token_name(p, &m.a, "a field");

	if (!e && !token_takes(p, "=") && !token_takes(p, "=="))
		e = token_refuse(p, "=");
	if (!e)
		e = token_name(p, &m.b, "a field of the other event");
	if (!e && p->s->matches.n == SQL_JOINS_MAX)
		e = sql_fault(p->s->text, m.a.at, p->err, "at most %u pairs of fields can match",
			      SQL_JOINS_MAX);
	if (!e)
		*vec_add(&p->s->matches) = m;
	return e;
}

/* The second event, and the fields by which its records meet those of the first. */
static int parse_join(struct sql_scan *p)
{
	int e = parse_table(p);

	if (!e && !token_takes_word(p, "ON"))
		e = token_refuse(p, "ON");
	do
		e = e ? e : parse_match(p);
	while (!e && (token_takes(p, ",") || token_takes_word(p, "AND") || token_takes(p, "&&")));
	return e;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Returns its number; nodes refer to each other by numbers, since the vector moves. */
static size_t add_node(struct sql_scan *p, struct sql_node n)
{
	*vec_add(&p->s->nodes) = n;
	return p->s->nodes.n - 1;
}

/* Whether a comparison stands here, which is taken. Their order does not matter: token_takes()
 * compares whole symbols. */
static bool takes_operator(struct sql_scan *p, struct sql_word *out)
{
	static const char *const operators[] = { "<", ">", "<=", ">=", "=", "==", "!=", "&", "~" };

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		*out = p->word;
		if (token_takes(p, operators[i]))
			return true;
	}
	return false;
}

/* "FIELD OP VALUE"; *out: its node. */
static int parse_compare(struct sql_scan *p, size_t *out)
{
	struct sql_node n = { .test = SQL_COMPARE };
	int e = token_name(p, &n.field, "a field");

	if (!e && !takes_operator(p, &n.operator))
		e = token_refuse(p, "a comparison (= != < <= > >= & ~)");
	if (e)
		return e;
	if (p->token == TOKEN_FIELD)
		return sql_fault(p->s->text, p->word.at, p->err,
				 "a field is compared with a number or a string here; fields of two "
				 "events are matched behind ON");
	if (p->token != TOKEN_NUMBER && p->token != TOKEN_STRING)
		return token_refuse(p, "a number or a string in quotes");
	n.value = p->word;
	token_next(p);
	*out = add_node(p, n);
	return 0;
}

static int parse_or(struct sql_scan *p, size_t *out);

/* Also what stands in parentheses, which is marked: the filter is to have them, too. Each level
 * takes the parser's stack, so depth is bounded. */
static int parse_not(struct sql_scan *p, size_t *out)
{
	int e = 0;

	if (++p->depth > SQL_DEPTH_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "more than %u levels",
				 SQL_DEPTH_MAX);
	if (token_takes(p, "!") || token_takes_word(p, "NOT")) {
		e = parse_not(p, out);
		if (!e)
			*out = add_node(p, (struct sql_node){ .test = SQL_NOT, .a = *out });
	} else if (token_takes(p, "(")) {
		e = parse_or(p, out);
		if (!e)
			e = token_take(p, ")", ")");
		if (!e)
			p->s->nodes.at[*out].grouped = true;
	} else {
		e = parse_compare(p, out);
	}
	p->depth--;
	return e;
}

/* A chain leans to the left: *out is the last AND, whose first part is all before it. */
static int parse_and(struct sql_scan *p, size_t *out)
{
	size_t right;
	int e = parse_not(p, out);

	while (!e && (token_takes(p, "&&") || token_takes_word(p, "AND"))) {
		e = parse_not(p, &right);
		if (!e)
			*out = add_node(p, (struct sql_node){ .test = SQL_AND, .a = *out,
							      .b = right });
	}
	return e;
}

/* Binds least. A chain leans to the left, as in parse_and(). */
static int parse_or(struct sql_scan *p, size_t *out)
{
	size_t right;
	int e = parse_and(p, out);

	while (!e && (token_takes(p, "||") || token_takes_word(p, "OR"))) {
		e = parse_and(p, &right);
		if (!e)
			*out = add_node(p, (struct sql_node){ .test = SQL_OR, .a = *out,
							      .b = right });
	}
	return e;
}

/* Cuts at the outermost ANDs: each part is of one event. An AND leans to the left, so that the
 * loop, not the stack, is as deep as the chain is long. */
static void add_conditions(struct sql_statement *s, size_t node)
{
	size_t first = s->conditions.n;

	for (; s->nodes.at[node].test == SQL_AND; node = s->nodes.at[node].a)
		*vec_add(&s->conditions) = s->nodes.at[node].b;
	*vec_add(&s->conditions) = node;
	for (size_t last = s->conditions.n - 1; first < last; first++, last--) {
		size_t swapped = s->conditions.at[first];

		s->conditions.at[first] = s->conditions.at[last];
		s->conditions.at[last] = swapped;
	}
}

/* Conditions, parted by commas as by AND. */
int parse_where(struct sql_scan *p)
{
	size_t node;
	int e;

	do {
		e = parse_or(p, &node);
		if (!e)
			add_conditions(p->s, node);
	} while (!e && token_takes(p, ","));
	return e;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Refuses the words where the statement should end; those of other SQLs have a sentence each. */
static int refuse_rest(struct sql_scan *p)
{
	static const struct { const char *word, *sentence; } others[] = {
		{ "UNION", "one SELECT makes one answer: ask twice, or brace query over recorded "
			   "events" },
		{ "LEFT", "only matched events are joined: JOIN; brace query has LEFT JOIN over "
			  "recorded events" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (token_is_word(p, others[i].word))
			return sql_fault(p->s->text, p->word.at, p->err, "%s", others[i].sentence);
	return token_refuse(p, p->s->n_tables == 1 ? "JOIN, WHERE, GROUP BY or the end"
						   : "WHERE, GROUP BY or the end");
}

/* The end of the statement, after a semicolon at most. */
int parse_end(struct sql_scan *p)
{
	token_takes(p, ";");
	return p->token == TOKEN_END ? 0 : refuse_rest(p);
}

/* The clauses of sqlhist in their one order. */
static int parse_statement(struct sql_scan *p)
{
	int e = token_takes_word(p, "SELECT") ? parse_items(p) : token_refuse(p, "SELECT");

	if (!e && !token_takes_word(p, "FROM"))
		e = token_refuse(p, "FROM");
	if (!e)
		e = parse_table(p);
	if (!e && token_takes_word(p, "JOIN"))
		e = parse_join(p);
	if (!e && token_takes_word(p, "WHERE"))
		e = parse_where(p);
	return e ? e : parse_end(p);
}

/* out points into text, which outlives it. Nothing is to be freed after a failure. */
int sql_parse(const char *text, struct sql_statement *out, struct err *err)
{
	struct sql_scan p = { .s = out, .err = err };
	int e;

	*out = (struct sql_statement){ .text = text, .wide = parse_wide_is(text) };
	token_next(&p);
	e = out->wide ? parse_wide(&p) : parse_statement(&p);
	if (e)
		sql_free(out);
	return e;
}

void sql_free(struct sql_statement *s)
{
	vec_free(&s->items);
	vec_free(&s->matches);
	vec_free(&s->nodes);
	vec_free(&s->conditions);
	vec_free(&s->exprs);
	vec_free(&s->groups);
	vec_free(&s->orders);
}
