/* SPDX-License-Identifier: MIT */
/* A parser by recursive descent, without a separate scanner. Called once for each text, on brace's
 * thread; the text is an argument of the command line. */
#include "follow/expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct expression_parser { const char *text, *at; struct err *err; };

/* Where the parser stands, for the caret. */
static size_t column_at(const struct expression_parser *p) { return (size_t)(p->at - p->text); }

/* Sets *err to the sentence, with the caret where the parser stands. -EINVAL. */
#define WRONG(p, ...) err_at((p)->err, EINVAL, (p)->text, column_at(p), __VA_ARGS__)

static void skip_blanks(struct expression_parser *p)
{
	p->at += strspn(p->at, " \t");
}

/* Takes the word if it comes next. */
static bool take_word(struct expression_parser *p, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(p);
	if (strncmp(p->at, word, n))
		return false;
	p->at += n;
	return true;
}

static bool is_name_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Takes a name of C into `to`; *at: its place in the text. what: what is expected, for the
 * sentence. */
static int take_name(struct expression_parser *p, const char *what, char to[FOLLOW_NAME],
		     size_t *at)
{
	size_t n = 0;

	skip_blanks(p);
	if (isdigit((unsigned char)*p->at) || !is_name_byte(*p->at))
		return WRONG(p, "%s is expected here", what);
	while (is_name_byte(p->at[n]))
		n++;
	if (n >= FOLLOW_NAME)
		return WRONG(p, "a name has at most %u letters", FOLLOW_NAME - 1);
	memcpy(to, p->at, n);
	to[n] = '\0';
	*at = column_at(p);
	p->at += n;
	return 0;
}

/* A structure's name, with its namespaces. */
static int take_type_name(struct expression_parser *p, struct follow_expression *out)
{
	size_t n;
	int e = take_name(p, "a structure's name", out->type, &out->type_at);

	while (!e && !strncmp(p->at, "::", 2)) {
		n = strlen(out->type) + 2;
		p->at += 2;
		while (is_name_byte(p->text[out->type_at + n]))
			n++;
		if (n >= FOLLOW_NAME)
			return WRONG(p, "a name has at most %u letters", FOLLOW_NAME - 1);
		if (!is_name_byte(*p->at) || isdigit((unsigned char)*p->at))
			return WRONG(p, "a structure's name is expected here");
		memcpy(out->type, p->text + out->type_at, n);
		out->type[n] = '\0';
		p->at = p->text + out->type_at + n;
	}
	return e;
}

/* A negative number is taken in 64 bits, as the field's own are later (follow_field_fit()). */
static int take_number(struct expression_parser *p, uint64_t *out)
{
	bool negative = take_word(p, "-");
	char *end;

	skip_blanks(p);
	if (!isdigit((unsigned char)*p->at))
		return WRONG(p, "a number is expected here: 17, -1 or 0xbeef");
	errno = 0;
	*out = strtoull(p->at, &end, 0);
	if (errno)
		return WRONG(p, "the number is too large: 64 bits are the most");
	if (is_name_byte(*end))
		return WRONG(p, "a number is expected here: 17, -1 or 0xbeef");
	p->at = end;
	if (negative)
		*out = -*out;
	return 0;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Room for one more name of the path, or NULL and the sentence. */
static struct follow_name *add_name(struct expression_parser *p, struct follow_path *path)
{
	if (path->n < FOLLOW_NAMES) {
		path->names[path->n] = (struct follow_name){ .at = column_at(p) };
		return &path->names[path->n++];
	}
	WRONG(p, "a path has at most %u names", FOLLOW_NAMES);
	return NULL;
}

/* "[N]": its bracket has been taken. */
static int take_index(struct expression_parser *p, struct follow_path *path)
{
	struct follow_name *name = add_name(p, path);
	int e = name ? take_number(p, &name->index) : -EINVAL;

	if (!e && !take_word(p, "]"))
		return WRONG(p, "] is expected here");
	return e;
}

/* A field's name. pointer: it stood behind ->. */
static int take_member(struct expression_parser *p, struct follow_path *path, bool pointer)
{
	struct follow_name *name = add_name(p, path);

	if (!name)
		return -EINVAL;
	name->pointer = pointer;
	return take_name(p, "a field's name", name->text, &name->at);
}

/* "a.b->c[1].d". out->end: behind its last word. */
static int take_path(struct expression_parser *p, struct follow_path *path)
{
	int e = take_member(p, path, false);

	while (!e) {
		if (take_word(p, "["))
			e = take_index(p, path);
		else if (take_word(p, "->"))
			e = take_member(p, path, true);
		else if (take_word(p, "."))
			e = take_member(p, path, false);
		else
			break;
	}
	path->end = column_at(p);
	return e;
}

/* --- conditions ------------------------------------------------------------------------------- */

static int take_comparison(struct expression_parser *p, enum follow_compare *out)
{
	/* Longer ones first. */
	static const struct { const char *word; enum follow_compare is; } words[] = {
		{ "==", FOLLOW_EQUAL }, { "!=", FOLLOW_UNEQUAL }, { "<=", FOLLOW_LESS_EQUAL },
		{ ">=", FOLLOW_GREATER_EQUAL }, { "<", FOLLOW_LESS }, { ">", FOLLOW_GREATER },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (take_word(p, words[i].word)) {
			*out = words[i].is;
			return 0;
		}
	if (*p->at == '=')
		return WRONG(p, "a comparison is expected here; equal is ==");
	return WRONG(p, "a comparison is expected here: ==, !=, <, <=, > or >=");
}

/* "PATH [& MASK] COMPARISON NUMBER[/MASK]". Without a mask all bits count; a & that belongs to
 * && is none. */
static int take_condition(struct expression_parser *p, struct follow_condition *c)
{
	int e = take_path(p, &c->path);

	c->mask = UINT64_MAX;
	skip_blanks(p);
	if (!e && strncmp(p->at, "&&", 2) && take_word(p, "&"))
		e = take_number(p, &c->mask);
	if (!e)
		e = take_comparison(p, &c->compare);
	if (!e)
		e = take_number(p, &c->value);
	if (!e && take_word(p, "/")) {
		e = take_number(p, &c->mask);
		c->value &= c->mask;
	}
	return e;
}

/* Reads conditions, at least one, with && between them. */
static int take_conditions(struct expression_parser *p, struct follow_expression *out)
{
	int e;

	do {
		if (out->n == FOLLOW_CONDITIONS)
			return WRONG(p, "there are at most %u conditions", FOLLOW_CONDITIONS);
		e = take_condition(p, &out->conditions[out->n++]);
	} while (!e && take_word(p, "&&"));
	return e;
}

/* Refuses what is left; else_what: what could stand there instead. */
static int expect_end(struct expression_parser *p, const char *else_what)
{
	skip_blanks(p);
	return *p->at ? WRONG(p, "%s is expected here", else_what) : 0;
}

/* $any==NUMBER, $arg1==NUMBER: what is behind the `$`. */
static int take_value(struct expression_parser *p, struct follow_expression *out)
{
	out->by_value = true;
	out->nth = FOLLOW_ARGUMENTS;
	if (!strncmp(p->at, "arg", 3) && p->at[3] >= '1' &&
	    p->at[3] < (char)('1' + FOLLOW_ARGUMENTS) && !is_name_byte(p->at[4])) {
		out->nth = (uint32_t)(p->at[3] - '1');
		p->at += 4;
	} else if (!strncmp(p->at, "any", 3) && !is_name_byte(p->at[3])) {
		p->at += 3;
	} else {
		return WRONG(p, "any, or arg1 to arg%u, is expected here", FOLLOW_ARGUMENTS);
	}
	if (!take_word(p, "=="))
		return WRONG(p, "== and the object's address are expected here");
	return take_number(p, &out->value);
}

/* "$argN==..." is a value in any function; else a structure, whose functions are sought.
 * `struct` and `class` may stand before it. */
int follow_expression_parse(const char *text, struct follow_expression *out, struct err *err)
{
	struct expression_parser p = { text, text, err };
	int e;

	*out = (struct follow_expression){ .text = text };
	skip_blanks(&p);
	if (take_word(&p, "$")) {
		e = take_value(&p, out);
		return e ? e : expect_end(&p, "the end");
	}
	if (!strncmp(p.at, "struct", 6) && (p.at[6] == ' ' || p.at[6] == '\t'))
		p.at += 7;
	else if (!strncmp(p.at, "class", 5) && (p.at[5] == ' ' || p.at[5] == '\t'))
		p.at += 6;
	e = take_type_name(&p, out);
	if (!e && take_word(&p, "."))
		e = take_conditions(&p, out);
	return e ? e : expect_end(&p, out->n ? "&&, or the end," : "a dot, or the end,");
}

/* A value is right if the bits that the field does not have are all 0, or all 1: a negative
 * number. */
bool follow_field_fit(const struct follow_field *p, uint64_t *value)
{
	uint64_t high = *value & ~p->mask;

	if (high && high != ~p->mask)
		return false;
	*value &= p->mask;
	if (p->sign && p->sign < 64 && *value >> (p->sign - 1))
		*value |= ~p->mask;
	return true;
}

/* --- fields to be shown ----------------------------------------------------------------------- */

/* Freed again it has nothing: follow_shown_parse() frees the labels where it fails. */
void follow_shown_free(struct follow_shown *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->labels[i]);
	s->n = 0;
}

/* One path and its text, which is its label. */
static int take_shown(struct expression_parser *p, struct follow_shown *out)
{
	const char *from;
	int e;

	skip_blanks(p);
	from = p->at;
	if (out->n == FOLLOW_SHOWN)
		return WRONG(p, "at most %u fields are shown", FOLLOW_SHOWN);
	e = take_path(p, &out->paths[out->n]);
	if (!e)
		out->labels[out->n++] = mem_strndup(from, (size_t)(p->at - from));
	return e;
}

int follow_shown_parse(const char *text, struct follow_shown *out, struct err *err)
{
	struct expression_parser p = { text, text, err };
	int e;

	*out = (struct follow_shown){ .text = text };
	do
		e = take_shown(&p, out);
	while (!e && take_word(&p, ","));
	if (!e)
		e = expect_end(&p, "a comma, or the end,");
	if (e)
		follow_shown_free(out);
	return e;
}
