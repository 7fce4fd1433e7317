/* SPDX-License-Identifier: MIT */
/* Knows statements that groups.c can answer, by their words alone: whatever is not exactly of this
 * form is left to SQLite, which has all of the language.
 *
 *     SELECT ITEM, ... FROM slice GROUP BY KEY[, KEY] [ORDER BY ITEM [ASC | DESC], ...] [LIMIT n]
 *
 * An ITEM is a KEY or FUNCTION(COLUMN), with a label or without; in ORDER BY also a label or a
 * number. Pure. query.c calls it, on the thread that has the query; no state. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "query/groups.h"

/* A column of the result: a key, or a function by its place among the spec's. */
struct groups_item {
	const char *text, *label;
	size_t n, label_n;       /* bytes */
	bool is_key;
	enum groups_key key;
	size_t value;
};

/* A statement that is being read, and the SELECT that is written meanwhile. */
struct groups_parse {
	const char *at, *end;
	const char *word;        /* the current word, n bytes; n 0: the end, or none of the form */
	size_t n;
	struct groups_spec *w;
	struct groups_item items[GROUPS_VALUES_MAX];
	size_t n_items;
	FILE *select;
};

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Goes on to the next word: a name, a number, or one of `,()*;`. */
static void next_word(struct groups_parse *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
	p->word = p->at;
	while (p->at < p->end && is_word_byte(*p->at))
		p->at++;
	if (p->at == p->word && p->at < p->end && strchr(",()*;", *p->at))
		p->at++;
	p->n = (size_t)(p->at - p->word);
}

/* SQL's words are the same in capitals. */
static bool word_is(const struct groups_parse *p, const char *word)
{
	return p->n == strlen(word) && !strncasecmp(p->word, word, p->n);
}

/* Goes on if the word is that one. */
static bool take_word(struct groups_parse *p, const char *word)
{
	if (!word_is(p, word))
		return false;
	next_word(p);
	return true;
}

/* Returns the word's place in the list; -1: it is not there. */
static int find_words(const struct groups_parse *p, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (word_is(p, words[i]))
			return i;
	return -1;
}

static const char *const key_words[] = { "name", "name_id", "utid", "track_id", NULL };
static const char *const column_words[] = { "dur", "self", "ts", "depth", NULL };

static const struct {
	const char *name;
	enum groups_function function;
	double percent;
} functions[] = {
	{ "count", GROUPS_COUNT, 0 }, { "sum", GROUPS_SUM, 0 },   { "min", GROUPS_MIN, 0 },
	{ "max", GROUPS_MAX, 0 },     { "avg", GROUPS_AVG, 0 },   { "p50", GROUPS_RANK, 50 },
	{ "p90", GROUPS_RANK, 90 },   { "p95", GROUPS_RANK, 95 }, { "p99", GROUPS_RANK, 99 },
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Reads FUNCTION(COLUMN) or count(*). */
static bool read_function(struct groups_parse *p, struct groups_value *v)
{
	size_t i = 0;
	int column;

	while (i < FUNCTIONS && !word_is(p, functions[i].name))
		i++;
	next_word(p);
	if (i == FUNCTIONS || !take_word(p, "("))
		return false;
	*v = (struct groups_value){ functions[i].function, GROUPS_DUR, functions[i].percent };
	if (v->function == GROUPS_COUNT && take_word(p, "*")) {
		v->function = GROUPS_ROWS;
		return word_is(p, ")");
	}
	column = find_words(p, column_words);
	if (column < 0)
		return false;
	v->column = (enum groups_column)column;
	next_word(p);
	return word_is(p, ")");
}

/* Words that may stand behind an item, and so are no labels. */
static bool is_keyword(const struct groups_parse *p)
{
	static const char *const words[] = { "from", "group", "order", "limit", "by", "asc", "desc",
					     "select", "as", "where", "having", "nulls", "collate",
					     "over", "filter", "and", "or", "not", "is", "in", "id",
					     "parent_id", "module", "retval", "ended", "doubtful",
					     "slice", NULL };

	return find_words(p, words) >= 0 || find_words(p, key_words) >= 0 ||
	       find_words(p, column_words) >= 0;
}

/* Reads [AS] LABEL, which may be absent. A label that is a column's name means several things. */
static bool read_label(struct groups_parse *p, const char **label, size_t *n)
{
	bool as = take_word(p, "as");

	*label = NULL;
	if (!as && (word_is(p, ",") || word_is(p, "from")))
		return true;
	if (!p->n || is_keyword(p) || !(isalpha((unsigned char)*p->word) || *p->word == '_'))
		return false;
	*label = p->word;
	*n = p->n;
	next_word(p);
	return true;
}

/* False: SQLite reads the statement, and tells what is wrong with it if it is. */
static bool read_item(struct groups_parse *p)
{
	size_t i = p->n_items;
	int key = find_words(p, key_words);

	if (i == GROUPS_VALUES_MAX || !p->n)
		return false;
	p->items[i].text = p->word;
	p->items[i].is_key = key >= 0;
	if (key >= 0) {
		p->items[i].key = (enum groups_key)key;
	} else {
		p->items[i].value = p->w->n_values;
		if (!read_function(p, &p->w->values[p->w->n_values++]))
			return false;
	}
	/* The last byte of a name or the closing parenthesis. */
	p->items[i].n = (size_t)(p->word + p->n - p->items[i].text);
	next_word(p);
	p->n_items++;
	return read_label(p, &p->items[i].label, &p->items[i].label_n);
}

/* False gives the statement to SQLite, faults included: this grammar refuses nothing by itself. */
static bool read_items(struct groups_parse *p)
{
	do
		if (!read_item(p))
			return false;
	while (take_word(p, ","));
	return true;
}

/* The number of the key among those that are grouped by; -1: it is none. */
static int find_key(const struct groups_spec *w, enum groups_key key)
{
	for (size_t i = 0; i < w->n_keys; i++)
		if (w->keys[i] == key)
			return (int)i;
	return -1;
}

/* A key that stands twice is left to SQLite, as everything unusual. */
static bool read_keys(struct groups_parse *p)
{
	do {
		int key = find_words(p, key_words);

		if (key < 0 || p->w->n_keys == GROUPS_KEYS_MAX ||
		    find_key(p->w, (enum groups_key)key) >= 0)
			return false;
		p->w->keys[p->w->n_keys++] = (enum groups_key)key;
		next_word(p);
	} while (take_word(p, ","));
	return true;
}

/* Writes the columns, each with the name that SQLite gives it: of a column its own, of an
 * expression its text. */
static bool write_columns(const struct groups_parse *p)
{
	fputs("SELECT ", p->select);
	for (size_t i = 0; i < p->n_items; i++) {
		int key = p->items[i].is_key ? find_key(p->w, p->items[i].key) : 0;

		if (key < 0)
			return false;
		fprintf(p->select, "%s%c%zu AS \"", i ? ", " : "", p->items[i].is_key ? 'k' : 'v',
			p->items[i].is_key ? (size_t)key : p->items[i].value);
		if (p->items[i].label)
			fprintf(p->select, "%.*s\"", (int)p->items[i].label_n, p->items[i].label);
		else if (p->items[i].is_key)
			fprintf(p->select, "%s\"", key_words[p->items[i].key]);
		else
			fprintf(p->select, "%.*s\"", (int)p->items[i].n, p->items[i].text);
	}
	fputs(" FROM brace_groups ORDER BY ", p->select);
	return true;
}

/* Finds the item that ORDER BY names: by its label, its number, its text or a key's name. Returns
 * its place; -1: there is none. */
static int find_item(struct groups_parse *p)
{
	const char *begin = p->word;
	struct groups_value v;
	size_t n = p->n, i = 0;

	if (n && isdigit((unsigned char)*begin)) {
		i = strtoul(begin, NULL, 10);
		next_word(p);
		return n < 3 && i && i <= p->n_items ? (int)i - 1 : -1;
	}
	while (i < p->n_items && !(p->items[i].label && p->items[i].label_n == n &&
				   !strncasecmp(p->items[i].label, begin, n)) &&
	       !(p->items[i].is_key && word_is(p, key_words[p->items[i].key])))
		i++;
	if (i < p->n_items || !read_function(p, &v)) {
		next_word(p);
		return i < p->n_items ? (int)i : -1;
	}
	next_word(p);
	for (i = 0; i < p->n_items; i++) {
		const struct groups_value *have = &p->w->values[p->items[i].value];

		if (!p->items[i].is_key && have->function == v.function &&
		    have->column == v.column && have->percent == v.percent)
			return (int)i;
	}
	return -1;
}

/* Rows that are equal in the order asked for come by their keys, as SQLite's groups do. */
static bool write_order(struct groups_parse *p)
{
	while (p->n && !word_is(p, "limit") && !word_is(p, ";")) {
		int i = find_item(p);

		if (i < 0)
			return false;
		fprintf(p->select, "%d", i + 1);
		if (word_is(p, "asc") || word_is(p, "desc")) {
			fprintf(p->select, " %.*s", (int)p->n, p->word);
			next_word(p);
		}
		fputs(", ", p->select);
		if (!take_word(p, ","))
			break;
	}
	return true;
}

/* Behind the items: the rest of the statement. */
static bool read_rest(struct groups_parse *p)
{
	if (!take_word(p, "from") || !take_word(p, "slice") || !take_word(p, "group") || !take_word(p, "by") ||
	    !read_keys(p) || !write_columns(p))
		return false;
	if (take_word(p, "order") && (!take_word(p, "by") || !write_order(p)))
		return false;
	fputs(p->w->n_keys > 1 ? "k0, k1" : "k0", p->select);
	if (take_word(p, "limit")) {
		if (!p->n || !isdigit((unsigned char)*p->word) || p->n > 9)
			return false;
		for (size_t i = 0; i < p->n; i++)
			if (!isdigit((unsigned char)p->word[i]))
				return false;
		fprintf(p->select, " LIMIT %.*s", (int)p->n, p->word);
		next_word(p);
	}
	take_word(p, ";");
	return p->at == p->end && !p->n;
}

/* *select, for free(), asks brace_groups for the same columns; only if true is returned. Whoever
 * calls it has had the statement parsed by SQLite: what is read here is known to be well formed. */
bool groups_read(const char *sql, size_t n, struct groups_spec *w, char **select)
{
	struct groups_parse p = { .at = sql, .end = sql + n, .w = w };
	size_t bytes;
	bool known;

	*w = (struct groups_spec){ .n_keys = 0 };
	p.select = mem_stream(select, &bytes);
	next_word(&p);
	known = take_word(&p, "select") && read_items(&p) && read_rest(&p);
	mem_stream_close(p.select, select);
	if (!known)
		free(*select);
	return known;
}
