/* SPDX-License-Identifier: MIT */
/* The grammar of sqlhist, by recursive descent over the text itself: a word is a place in it, and
 * nothing is copied. The first fault ends the parsing; its caret is at the word that does not
 * fit. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "sql/internal.h"

enum token {
	END, FIELD, NUMBER, STRING, SYMBOL, /* one or two characters */
	BAD,
};

struct parse {
	struct sql_statement *s;
	struct err *err;
	enum token token;
	struct sql_word word;     /* of the token */
	unsigned depth;
};

int sql_fault(const char *text, size_t at, struct err *err, const char *fmt, ...)
{
	size_t begin = at, end = at + strcspn(text + at, "\n");
	char sentence[sizeof(err->text)], *line;
	va_list ap;

	while (begin && text[begin - 1] != '\n')
		begin--;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	/* A long line is shown by the part around the fault. */
	if (at - begin > sizeof(err->input) / 2)
		begin = at - sizeof(err->input) / 2;
	line = mem_strndup(text + begin, end - begin);
	err_at(err, EINVAL, line, at - begin, "%s", sentence);
	free(line);
	return -EINVAL;
}

static int refuse_word(const struct parse *p, const char *expected)
{
	const struct sql_word *w = &p->word;

	if (p->token == END)
		return sql_fault(p->s->text, w->at, p->err, "the statement ends where %s is expected",
				 expected);
	return sql_fault(p->s->text, w->at, p->err, "%.*s stands where %s is expected",
			 (int)(w->n < 40 ? w->n : 40), p->s->text + w->at, expected);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':' || c == '%';
}

/* Characters up to the closing quote, or 0. */
static size_t string_length(const char *at)
{
	const char *end = strchr(at + 1, *at);

	return end ? (size_t)(end - at) + 1 : 0;
}

static size_t name_length(const char *at)
{
	size_t n = 0;

	while (is_name_char(at[n]))
		n++;
	return n;
}

/* Sets token and word. A backslash makes a name of a keyword. */
static void next(struct parse *p)
{
	static const char *const pairs[] = { "<=", ">=", "==", "!=", "&&", "||" };
	size_t from = p->word.at + p->word.n;
	const char *at = p->s->text + from + strspn(p->s->text + from, " \t\r\n");
	size_t n = 1;

	p->token = SYMBOL;
	if (!*at) {
		p->token = END;
		n = 0;
	} else if (isalpha((unsigned char)*at) || *at == '_' || *at == '\\') {
		p->token = FIELD;
		n = (*at == '\\') + name_length(at + (*at == '\\'));
	} else if (isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]))) {
		p->token = NUMBER;
		n = 1 + name_length(at + 1);
	} else if (*at == '"' || *at == '\'') {
		n = string_length(at);
		p->token = n ? STRING : BAD;
		n = n ? n : 1;
	} else {
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			if (!strncmp(at, pairs[i], 2))
				n = 2;
	}
	p->word = (struct sql_word){ (size_t)(at - p->s->text), n };
}

static bool is_symbol(const struct parse *p, const char *symbol)
{
	return p->token == SYMBOL && strlen(symbol) == p->word.n &&
	       !strncmp(p->s->text + p->word.at, symbol, p->word.n);
}

static bool is_keyword(const struct parse *p, const char *keyword)
{
	return p->token == FIELD && strlen(keyword) == p->word.n &&
	       !strncasecmp(p->s->text + p->word.at, keyword, p->word.n);
}

/* Words that end an item, a table or a condition. */
static bool is_reserved(const struct parse *p)
{
	static const char *const reserved[] = { "SELECT", "AS", "FROM", "JOIN", "ON", "WHERE",
						"AND", "OR", "NOT", "CAST", "GROUP", "ORDER",
						"HAVING", "LIMIT", "EVERY", "INNER", "LEFT",
						"DISTINCT", "UNION" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (is_keyword(p, reserved[i]))
			return true;
	return false;
}

static bool takes_symbol(struct parse *p, const char *symbol)
{
	bool is = is_symbol(p, symbol);

	if (is)
		next(p);
	return is;
}

static bool takes_keyword(struct parse *p, const char *keyword)
{
	bool is = is_keyword(p, keyword);

	if (is)
		next(p);
	return is;
}

static int take_symbol(struct parse *p, const char *symbol, const char *expected)
{
	return takes_symbol(p, symbol) ? 0 : refuse_word(p, expected);
}

static int take_name(struct parse *p, struct sql_word *out, const char *expected)
{
	if (p->token != FIELD || is_reserved(p))
		return refuse_word(p, expected);
	*out = p->word;
	if (p->s->text[out->at] == '\\') {
		out->at++;
		out->n--;
	}
	next(p);
	return out->n ? 0 : sql_fault(p->s->text, out->at, p->err, "behind \\ stands a name");
}

/* "[AS] NAME", if it is there. */
static int take_label(struct parse *p, struct sql_word *out)
{
	if (takes_keyword(p, "AS"))
		return take_name(p, out, "a name");
	if (p->token == FIELD && !is_reserved(p))
		return take_name(p, out, "a name");
	return 0;
}

/* --- what is selected ------------------------------------------------------------------------- */

/* "sym-offset" and "buckets=N" are several words of the text. */
static int take_cast(struct parse *p, struct sql_item *i)
{
	int e = take_name(p, &i->cast, "a type");

	if (e)
		return e;
	if (is_symbol(p, "-")) {
		next(p);
		if (!is_keyword(p, "offset"))
			return refuse_word(p, "offset, of sym-offset,");
		i->cast.n = p->word.at + p->word.n - i->cast.at;
		next(p);
	} else if (takes_symbol(p, "=")) {
		if (p->token != NUMBER)
			return refuse_word(p, "the width of a bucket");
		i->buckets = strtoull(p->s->text + p->word.at, NULL, 0);
		next(p);
	}
	return take_symbol(p, ")", "the ) of CAST");
}

/* "CAST(FIELD AS TYPE)" behind its first word. */
static int parse_cast(struct parse *p, struct sql_item *i)
{
	int e = take_symbol(p, "(", "( behind CAST");

	if (!e)
		e = take_name(p, &i->a, "a field");
	if (!e && !takes_keyword(p, "AS"))
		e = refuse_word(p, "AS");
	return e ? e : take_cast(p, i);
}

/* "FIELD", "FIELD + FIELD", "FIELD - FIELD" */
static int parse_sum(struct parse *p, struct sql_item *i)
{
	int e = take_name(p, &i->a, "a field");

	if (e)
		return e;
	if (is_symbol(p, "("))
		return sql_fault(p->s->text, i->a.at, p->err,
				 "there are no functions here: select fields, sums and differences "
				 "of two, and CAST(FIELD AS _COUNTER_) for a sum by key");
	if (is_symbol(p, "*") || is_symbol(p, "/"))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "of two fields only a sum or a difference can be selected");
	if (!is_symbol(p, "+") && !is_symbol(p, "-"))
		return 0;
	i->operator = is_symbol(p, "+") ? SQL_PLUS : SQL_MINUS;
	next(p);
	return take_name(p, &i->b, "a second field");
}

static int parse_item(struct parse *p)
{
	struct sql_item i = { 0 };
	int e;

	if (p->s->items.n == SQL_ITEMS_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "at most %u values can be selected",
				 SQL_ITEMS_MAX);
	if (is_symbol(p, "*"))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "* selects nothing here: name the fields");
	if (takes_keyword(p, "CAST")) {
		e = parse_cast(p, &i);
	} else if (takes_symbol(p, "(")) {
		e = parse_sum(p, &i);
		if (!e)
			e = take_symbol(p, ")", ")");
	} else {
		e = parse_sum(p, &i);
	}
	if (!e)
		e = take_label(p, &i.label);
	if (!e)
		*vec_add(&p->s->items) = i;
	return e;
}

static int parse_items(struct parse *p)
{
	int e;

	do
		e = parse_item(p);
	while (!e && takes_symbol(p, ","));
	return e;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int parse_table(struct parse *p)
{
	struct sql_table *t = &p->s->tables[p->s->n_tables++];
	int e;

	if (is_symbol(p, "("))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "a table is an event: give a SELECT a name with -n, and select FROM "
				 "that in a second statement");
	e = take_name(p, &t->event, "an event");
	return e ? e : take_label(p, &t->name);
}

static int parse_match(struct parse *p)
{
	struct sql_match m;
	int e = take_name(p, &m.a, "a field");

	if (!e && !takes_symbol(p, "=") && !takes_symbol(p, "=="))
		e = refuse_word(p, "=");
	if (!e)
		e = take_name(p, &m.b, "a field of the other event");
	if (!e && p->s->matches.n == SQL_JOINS_MAX)
		e = sql_fault(p->s->text, m.a.at, p->err, "at most %u pairs of fields can match",
			      SQL_JOINS_MAX);
	if (!e)
		*vec_add(&p->s->matches) = m;
	return e;
}

static int parse_join(struct parse *p)
{
	int e = parse_table(p);

	if (!e && !takes_keyword(p, "ON"))
		e = refuse_word(p, "ON");
	do
		e = e ? e : parse_match(p);
	while (!e && (takes_symbol(p, ",") || takes_keyword(p, "AND") || takes_symbol(p, "&&")));
	return e;
}

/* --- conditions ------------------------------------------------------------------------------- */

static size_t add_node(struct parse *p, struct sql_node n)
{
	*vec_add(&p->s->nodes) = n;
	return p->s->nodes.n - 1;
}

static bool takes_operator(struct parse *p, struct sql_word *out)
{
	static const char *const operators[] = { "<", ">", "<=", ">=", "=", "==", "!=", "&", "~" };

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		*out = p->word;
		if (takes_symbol(p, operators[i]))
			return true;
	}
	return false;
}

static int parse_compare(struct parse *p, size_t *out)
{
	struct sql_node n = { .test = SQL_COMPARE };
	int e = take_name(p, &n.field, "a field");

	if (!e && !takes_operator(p, &n.operator))
		e = refuse_word(p, "a comparison (= != < <= > >= & ~)");
	if (e)
		return e;
	if (p->token == FIELD)
		return sql_fault(p->s->text, p->word.at, p->err,
				 "a field is compared with a number or a string here; fields of two "
				 "events are matched behind ON");
	if (p->token != NUMBER && p->token != STRING)
		return refuse_word(p, "a number or a string in quotes");
	n.value = p->word;
	next(p);
	*out = add_node(p, n);
	return 0;
}

static int parse_or(struct parse *p, size_t *out);

static int parse_not(struct parse *p, size_t *out)
{
	int e = 0;

	if (++p->depth > SQL_DEPTH_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "more than %u levels",
				 SQL_DEPTH_MAX);
	if (takes_symbol(p, "!") || takes_keyword(p, "NOT")) {
		e = parse_not(p, out);
		if (!e)
			*out = add_node(p, (struct sql_node){ .test = SQL_NOT, .a = *out });
	} else if (takes_symbol(p, "(")) {
		e = parse_or(p, out);
		if (!e)
			e = take_symbol(p, ")", ")");
		if (!e)
			p->s->nodes.at[*out].grouped = true;
	} else {
		e = parse_compare(p, out);
	}
	p->depth--;
	return e;
}

static int parse_and(struct parse *p, size_t *out)
{
	size_t right;
	int e = parse_not(p, out);

	while (!e && (takes_symbol(p, "&&") || takes_keyword(p, "AND"))) {
		e = parse_not(p, &right);
		if (!e)
			*out = add_node(p, (struct sql_node){ .test = SQL_AND, .a = *out,
							      .b = right });
	}
	return e;
}

static int parse_or(struct parse *p, size_t *out)
{
	size_t right;
	int e = parse_and(p, out);

	while (!e && (takes_symbol(p, "||") || takes_keyword(p, "OR"))) {
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

static int parse_where(struct parse *p)
{
	size_t node;
	int e;

	do {
		e = parse_or(p, &node);
		if (!e)
			add_conditions(p->s, node);
	} while (!e && takes_symbol(p, ","));
	return e;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Refuses the words where the statement should end; those of other SQLs have a sentence each. */
static int refuse_rest(struct parse *p)
{
	static const struct { const char *word, *sentence; } others[] = {
		{ "JOIN", "at most two events are joined: give this SELECT a name with -n, and join "
			  "that in a second statement" },
		{ "GROUP", "fields that are selected FROM one event are its keys already: leave GROUP "
			   "BY out; brace query groups recorded events" },
		{ "ORDER", "the order is the histogram's: brace hist has sort=; brace query sorts "
			   "recorded events" },
		{ "HAVING", "conditions are on fields, behind WHERE; brace query has HAVING over "
			    "recorded events" },
		{ "LIMIT", "all rows are shown; brace query has LIMIT over recorded events" },
		{ "EVERY", "the answer comes at the end; brace hist --top shows a histogram once a "
			   "second" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (is_keyword(p, others[i].word))
			return sql_fault(p->s->text, p->word.at, p->err, "%s", others[i].sentence);
	return refuse_word(p, p->s->n_tables == 1 ? "JOIN, WHERE or the end" : "WHERE or the end");
}

static int parse_statement(struct parse *p)
{
	int e = takes_keyword(p, "SELECT") ? parse_items(p) : refuse_word(p, "SELECT");

	if (!e && !takes_keyword(p, "FROM"))
		e = refuse_word(p, "FROM");
	if (!e)
		e = parse_table(p);
	if (!e && takes_keyword(p, "JOIN"))
		e = parse_join(p);
	if (!e && takes_keyword(p, "WHERE"))
		e = parse_where(p);
	if (!e)
		takes_symbol(p, ";");
	return e || p->token == END ? e : refuse_rest(p);
}

int sql_parse(const char *text, struct sql_statement *out, struct err *err)
{
	struct parse p = { .s = out, .err = err };
	int e;

	*out = (struct sql_statement){ .text = text };
	next(&p);
	e = parse_statement(&p);
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
}
