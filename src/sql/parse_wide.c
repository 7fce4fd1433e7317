/* SPDX-License-Identifier: MIT */
/* The grammar of wide statements (sql.h). Whether a statement is one is decided by its words alone,
 * so that sqlhist's own are parsed, and refused, as ever. Called by sql_parse(). Any thread, no
 * state but the caller's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/internal.h"

/* --- is it one? ------------------------------------------------------------------------------- */

/* Facts about a statement, collected word by word. */
struct look {
	unsigned joins, operators;  /* operators: of the item that is selected */
	bool from, sums, wide;
	bool cast, on;              /* a parenthesis after these words is theirs */
};

/* words: ends with NULL. */
static bool is_any(const struct sql_scan *p, const char *const *words)
{
	for (; *words; words++)
		if (token_is_word(p, *words))
			return true;
	return false;
}

/* A word and what may stand before a parenthesis that calls no function. */
static void look_at_word(struct look *l, const struct sql_scan *p)
{
	static const char *const clauses[] = { "GROUP", "HAVING", "ORDER", "LIMIT", "EVERY", NULL };
	const char *word = p->s->text + p->word.at;

	l->joins += token_is_word(p, "JOIN");
	l->wide |= is_any(p, clauses) || (p->word.n > 6 && !strncasecmp(word, "calls.", 6) &&
					  l->from);
	l->from |= token_is_word(p, "FROM");
}

/* Operators of the select list: sqlhist has one between two fields of two events. */
static void look_at_symbol(struct look *l, const struct sql_scan *p, bool first)
{
	if (token_is(p, "~~"))
		l->wide = true;
	if (l->from)
		return;
	if (token_is(p, ","))
		l->operators = 0;
	if ((token_is(p, "*") && !first) || token_is(p, "/"))
		l->wide = true;
	if (token_is(p, "+") || token_is(p, "-")) {
		l->sums = true;
		l->wide |= ++l->operators > 1;
	}
}

/* "sym-offset" has no operator in it. If anything else stands there, the scan goes back: behind a
 * word of no characters token_next() reads `sym` again. */
static bool skips_offset(struct sql_scan *p)
{
	const size_t at = p->word.at;

	if (!token_is_word(p, "sym"))
		return false;
	token_next(p);
	if (token_is(p, "-")) {
		token_next(p);
		if (token_is_word(p, "offset"))
			return true;
	}
	p->word = (struct sql_word){ at, 0 };
	token_next(p);
	return false;
}

/* One word, with the one before it. A parenthesis behind a word that is none of `plain` calls a
 * function: sqlhist has none. */
static void look_at(struct look *l, struct sql_scan *p, const struct sql_scan *before)
{
	static const char *const plain[] = { "SELECT", "CAST", "FROM", "WHERE", "ON", "AND", "OR",
					     "NOT", "JOIN", "AS", NULL };

	if (p->token == TOKEN_FIELD && !skips_offset(p))
		look_at_word(l, p);
	else if (p->token == TOKEN_SYMBOL)
		look_at_symbol(l, p, token_is_word(before, "SELECT") || token_is(before, ",") ||
						 token_is(before, "("));
	l->wide |= token_is(p, "(") && before->token == TOKEN_FIELD && !is_any(before, plain);
	/* A number is selected, or a time stands behind the clause. */
	if (p->token == TOKEN_NUMBER)
		l->wide |= (!l->from && !token_is(before, "=")) || token_is_word(before, "EXPIRE");
	l->wide |= token_is_word(before, "WITHIN") && p->token == TOKEN_FIELD && l->from;
}

/* Looks at words alone, before anything is parsed: sqlhist's own statements are to get sqlhist's
 * own sentences. */
bool parse_wide_is(const char *text)
{
	struct sql_statement s = { .text = text };
	struct sql_scan p = { .s = &s }, before = { .s = &s };
	struct look l = { 0 };

	for (token_next(&p); p.token != TOKEN_END; token_next(&p)) {
		look_at(&l, &p, &before);
		/* The scan is a value: a copy of it is the word before. */
		before = p;
	}
	return l.wide || l.joins > 1 || (l.from && l.sums && !l.joins);
}

/* --- expressions ------------------------------------------------------------------------------ */

static const char *const function_names[SQL_FUNCTIONS_N] = {
	"count", "sum", "min", "max", "avg", "p50", "p90", "p95", "p99",
};

/* Operators by how tightly they bind. A word is one, too. */
static const struct {
	struct { const char *symbol, *sqlite; } at[8];
} levels[] = {
	{ { { "OR", "OR" }, { "||", "OR" } } },
	{ { { "AND", "AND" }, { "&&", "AND" } } },
	{ { { "=", "=" }, { "==", "=" }, { "!=", "<>" }, { "<=", "<=" }, { ">=", ">=" },
	    { "<", "<" }, { ">", ">" } } },
	{ { { "+", "+" }, { "-", "-" } } },
	{ { { "*", "*" }, { "/", "/" } } },
};
#define LEVELS (sizeof(levels) / sizeof(*levels))
#define LEVEL_NOT 2u   /* above comparisons */
#define LEVEL_VALUE 3u /* sums: what can be selected */

static int parse_level(struct sql_scan *p, size_t level, size_t *out);

/* Expressions are walked by recursion: a long chain is as deep as it is long. */
#define EXPRS_MAX 1000u

/* Called as each level begins, before anything is added. */
static int check_size(const struct sql_scan *p)
{
	if (p->s->exprs.n < EXPRS_MAX && p->s->nodes.n < EXPRS_MAX)
		return 0;
	return sql_fault(p->s->text, p->word.at, p->err, "a statement has at most %u values and "
			 "conditions", EXPRS_MAX);
}

/* Returns its number; expressions refer to each other by numbers, since the vector moves. */
static size_t add_expr(struct sql_scan *p, struct sql_expr x)
{
	*vec_add(&p->s->exprs) = x;
	return p->s->exprs.n - 1;
}

/* A minus that the number's word begins with is an operator behind a value. token_next() cannot
 * know: `a -3` is a difference, and `= -3` a number. The scan goes on behind the minus alone. */
static void split_minus(struct sql_scan *p)
{
	if (p->token != TOKEN_NUMBER || p->s->text[p->word.at] != '-')
		return;
	p->token = TOKEN_SYMBOL;
	p->word.n = 1;
}

/* The operator of the level, in SQLite's words; NULL: there is none. */
static const char *takes_operator(struct sql_scan *p, size_t level)
{
	if (level >= LEVEL_VALUE)
		split_minus(p);
	for (size_t i = 0; i < 8 && levels[level].at[i].symbol; i++)
		if (token_takes(p, levels[level].at[i].symbol) ||
		    token_takes_word(p, levels[level].at[i].symbol))
			return levels[level].at[i].sqlite;
	return NULL;
}

/* Parses the inner of parentheses. */
static int parse_inner(struct sql_scan *p, size_t level, size_t *out)
{
	int e;

	if (++p->depth > SQL_DEPTH_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "more than %u levels",
				 SQL_DEPTH_MAX);
	e = parse_level(p, level, out);
	p->depth--;
	return e;
}

/* A number with a sign or of another base is one word here. strtoll() reads it whole or not at all:
 * 12ab is refused, not cut. */
static int parse_number(struct sql_scan *p, size_t *out)
{
	const char *at = p->s->text + p->word.at;
	struct sql_expr x = { .kind = SQL_EXPR_NUMBER, .word = p->word };
	char *end;

	errno = 0;
	x.number = strtoll(at, &end, 0);
	if (errno || end != at + p->word.n)
		return sql_fault(p->s->text, p->word.at, p->err,
				 "%.*s is no number of 64 bits: 12, -3, 0x1f",
				 (int)(p->word.n < 40 ? p->word.n : 40), at);
	*out = add_expr(p, x);
	token_next(p);
	return 0;
}

/* "count(*)", "p99(VALUE)", behind the name. */
static int parse_call(struct sql_scan *p, struct sql_word name, size_t *out)
{
	struct sql_expr x = { .kind = SQL_EXPR_CALL, .word = name, .a = SQL_NONE };
	const char *word = p->s->text + name.at;
	int e = 0;

	while (x.function < SQL_FUNCTIONS_N &&
	       (strlen(function_names[x.function]) != name.n ||
		strncasecmp(word, function_names[x.function], name.n) != 0))
		x.function++;
	if (x.function == SQL_FUNCTIONS_N)
		return sql_fault(p->s->text, name.at, p->err,
				 "there is no function %.*s: there are count, sum, min, max, avg, "
				 "p50, p90, p95 and p99, and CAST(FIELD AS TYPE)",
				 (int)(name.n < 40 ? name.n : 40), word);
	token_next(p);
	if (x.function == SQL_COUNT && token_is(p, "*"))
		token_next(p);
	else
		e = parse_inner(p, LEVEL_VALUE, &x.a);
	if (!e)
		e = token_take(p, ")", ")");
	if (!e)
		*out = add_expr(p, x);
	return e;
}

/* CAST is a value of its own; its type is sqlhist's. */
static int parse_cast(struct sql_scan *p, size_t *out)
{
	struct sql_expr x = { .kind = SQL_EXPR_CAST, .word = p->word };
	int e;

	token_next(p);
	e = token_take(p, "(", "( behind CAST");
	if (!e)
		e = token_name(p, &x.cast.a, "a field");
	if (!e && !token_takes_word(p, "AS"))
		e = token_refuse(p, "AS");
	if (!e)
		e = parse_cast_type(p, &x.cast);
	if (!e)
		*out = add_expr(p, x);
	return e;
}

/* A field, or a function of a value. */
static int parse_field(struct sql_scan *p, size_t *out)
{
	struct sql_expr x = { .kind = SQL_EXPR_FIELD };
	int e = token_name(p, &x.word, "a value");

	if (!e && token_is(p, "("))
		return parse_call(p, x.word, out);
	if (!e)
		*out = add_expr(p, x);
	return e;
}

/* A number, a string (in conditions only), a CAST, a field, a call, or one of these in
 * parentheses. */
static int parse_primary(struct sql_scan *p, size_t level, size_t *out)
{
	int e;

	if (p->token == TOKEN_NUMBER)
		return parse_number(p, out);
	if (p->token == TOKEN_STRING && level < LEVEL_VALUE) {
		*out = add_expr(p, (struct sql_expr){ .kind = SQL_EXPR_STRING, .word = p->word });
		token_next(p);
		return 0;
	}
	if (token_is_word(p, "CAST"))
		return parse_cast(p, out);
	if (!token_takes(p, "("))
		return parse_field(p, out);
	e = parse_inner(p, level < LEVEL_VALUE ? 0 : LEVEL_VALUE, out);
	return e ? e : token_take(p, ")", ")");
}

/* NOT stands before a comparison. */
static int parse_not(struct sql_scan *p, size_t *out)
{
	struct sql_expr x = { .kind = SQL_EXPR_NOT, .word = p->word };
	int e;

	if (!token_takes(p, "!") && !token_takes_word(p, "NOT"))
		return parse_level(p, LEVEL_NOT, out);
	if (++p->depth > SQL_DEPTH_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "more than %u levels",
				 SQL_DEPTH_MAX);
	e = parse_not(p, &x.a);
	p->depth--;
	if (!e)
		*out = add_expr(p, x);
	return e;
}

/* One side of an operator of the level: the next level that binds more tightly. NOT has its place
 * between AND and the comparisons, and is no row of the table, for it has one operand. */
static int parse_operand(struct sql_scan *p, size_t level, size_t begin, size_t *out)
{
	if (level + 1 == LEVEL_NOT)
		return parse_not(p, out);
	return level + 1 < LEVELS ? parse_level(p, level + 1, out) : parse_primary(p, begin, out);
}

/* `begin` of a primary: conditions may stand in parentheses only where one began. */
static int parse_level(struct sql_scan *p, size_t level, size_t *out)
{
	size_t begin = level >= LEVEL_VALUE ? LEVEL_VALUE : level;
	struct sql_expr x = { .kind = SQL_EXPR_BINARY, .word = p->word };
	int e;

	e = check_size(p);
	if (!e)
		e = parse_operand(p, level, begin, out);
	while (!e && (x.operator = takes_operator(p, level))) {
		x.a = *out;
		e = parse_operand(p, level, begin, &x.b);
		if (!e)
			*out = add_expr(p, x);
	}
	return e;
}

/* --- parts of the statement ------------------------------------------------------------------- */

/* A value and its label. Its text is kept, too: it is the heading where there is no label. The next
 * word's begin ends it: the blanks between belong to neither. */
static int parse_item(struct sql_scan *p)
{
	struct sql_item i = { .a = p->word };
	int e = token_item(p);

	if (e)
		return e;
	e = parse_level(p, LEVEL_VALUE, &i.expr);
	/* The item's own text, for a heading. */
	i.a.n = p->word.at - i.a.at;
	while (!e && i.a.n && strchr(" \t\r\n", p->s->text[i.a.at + i.a.n - 1]))
		i.a.n--;
	if (!e)
		e = token_label(p, &i.label);
	if (!e)
		*vec_add(&p->s->items) = i;
	return e;
}

/* An event, calls.FUNCTION, or A ~~ B; `matches` is where its fields of ON begin. Without a JOIN's
 * ON the range is empty: the next table's begins at the same place. */
static int parse_table(struct sql_scan *p)
{
	struct sql_table *t = &p->s->tables[p->s->n_tables];
	const char *word = p->s->text + p->word.at;
	int e;

	if (p->s->n_tables == SQL_TABLES_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "at most %u tables can be joined",
				 SQL_TABLES_MAX);
	if (token_is(p, "("))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "a table is an event: give a SELECT a name with -n, and select FROM "
				 "that in a second statement");
	p->s->n_tables++;
	t->matches = p->s->matches.n;
	e = token_name(p, &t->event, "an event");
	if (!e && t->event.n > 6 && !strncasecmp(word, "calls.", 6)) {
		t->kind = SQL_CALLS;
		t->event.at += 6;
		t->event.n -= 6;
	} else if (!e && token_takes(p, "~~")) {
		t->kind = SQL_SPAN;
		e = token_name(p, &t->until, "the event that ends the span");
	}
	return e ? e : token_label(p, &t->name);
}

/* Any number of JOINs, each with its ON. */
static int parse_joins(struct sql_scan *p)
{
	int e = 0;

	while (!e && token_takes_word(p, "JOIN")) {
		e = parse_table(p);
		if (!e && !token_takes_word(p, "ON"))
			e = token_refuse(p, "ON");
		do
			e = e ? e : parse_match(p);
		while (!e && (token_takes(p, ",") || token_takes_word(p, "AND") ||
			      token_takes(p, "&&")));
	}
	return e;
}

/* GROUP has been taken. */
static int parse_groups(struct sql_scan *p)
{
	size_t x;
	int e = token_takes_word(p, "BY") ? 0 : token_refuse(p, "BY");

	do {
		e = e ? e : parse_level(p, LEVEL_VALUE, &x);
		if (!e)
			*vec_add(&p->s->groups) = x;
	} while (!e && token_takes(p, ","));
	return e;
}

/* ORDER has been taken. ASC is the default, and may be written. */
static int parse_orders(struct sql_scan *p)
{
	int e = token_takes_word(p, "BY") ? 0 : token_refuse(p, "BY");

	do {
		struct sql_order o = { 0 };

		e = e ? e : parse_level(p, LEVEL_VALUE, &o.expr);
		o.descending = !e && token_takes_word(p, "DESC");
		if (!e && !o.descending)
			token_takes_word(p, "ASC");
		if (!e)
			*vec_add(&p->s->orders) = o;
	} while (!e && token_takes(p, ","));
	return e;
}

/* A condition over the groups. */
static int parse_having(struct sql_scan *p)
{
	return parse_level(p, 0, &p->s->having);
}

/* A number of rows, not negative, in decimal. */
static int parse_limit(struct sql_scan *p)
{
	const char *at = p->s->text + p->word.at;
	char *end;

	errno = 0;
	p->s->limit = strtoull(at, &end, 10);
	if (p->token != TOKEN_NUMBER || *at == '-' || errno || end != at + p->word.n)
		return token_refuse(p, "the number of rows");
	p->s->limited = true;
	token_next(p);
	return 0;
}

/* "10s", "500ms", "1.5": seconds without a unit. Below 1e18 ns (31 years) a sum with a clock's time
 * still has room in 64 bits. */
static int parse_time(struct sql_scan *p, uint64_t *ns)
{
	static const struct { const char *name; double ns; } units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "m", 6e10 },
	};
	char *word = mem_strndup(p->s->text + p->word.at, p->word.n), *unit;
	double n = strtod(word, &unit);

	*ns = 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(unit, units[i].name) && n * units[i].ns >= 1 && n * units[i].ns < 1e18)
			*ns = (uint64_t)(n * units[i].ns);
	free(word);
	if (p->token != TOKEN_NUMBER || !*ns)
		return token_refuse(p, "a time (1s, 500ms)");
	token_next(p);
	return 0;
}

/* The interval at which an answer is shown while it grows. */
static int parse_every(struct sql_scan *p)
{
	return parse_time(p, &p->s->every_ns);
}

/* After what time records do not meet any more. */
static int parse_expire(struct sql_scan *p)
{
	return parse_time(p, &p->s->expire_ns);
}

/* The function in whose calls events count. */
static int parse_within(struct sql_scan *p)
{
	return token_name(p, &p->s->within, "a function");
}

/* Each clause once, in this order. */
static int parse_clauses(struct sql_scan *p)
{
	static const struct { const char *word; int (*parse)(struct sql_scan *p); } clauses[] = {
		{ "WITHIN", parse_within },   { "WHERE", parse_where }, { "GROUP", parse_groups },
		{ "HAVING", parse_having },   { "ORDER", parse_orders }, { "LIMIT", parse_limit },
		{ "EVERY", parse_every },     { "EXPIRE", parse_expire },
	};
	int e = 0;

	for (size_t i = 0; i < sizeof(clauses) / sizeof(*clauses) && !e; i++)
		if (token_takes_word(p, clauses[i].word))
			e = clauses[i].parse(p);
	return e ? e : check_size(p);
}

/* The statement from SELECT on. 0, or -EINVAL and p->err. */
int parse_wide(struct sql_scan *p)
{
	int e = 0;

	p->s->having = SQL_NONE;
	if (!token_takes_word(p, "SELECT"))
		return token_refuse(p, "SELECT");
	do
		e = e ? e : parse_item(p);
	while (!e && token_takes(p, ","));
	if (!e && !token_takes_word(p, "FROM"))
		e = token_refuse(p, "FROM");
	if (!e)
		e = parse_table(p);
	if (!e)
		e = parse_joins(p);
	if (!e)
		e = parse_clauses(p);
	return e ? e : parse_end(p);
}
