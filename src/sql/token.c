/* SPDX-License-Identifier: MIT */
/* Words of a statement, for parse.c and parse_wide.c, and how a fault in it is told. A word is a
 * place in the text: nothing is copied. Any thread; fails by a sentence with the word's column. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "sql/internal.h"

#define WORD_SHOWN 40u /* bytes of a word at fault */

/* at: in the whole statement, which may have several lines; the column told is that of its line. */
int sql_fault(const char *text, size_t at, struct err *err, const char *fmt, ...)
{
	size_t begin = at, end = at + strcspn(text + at, "\n");
	char sentence[sizeof(err->text)], *line;
	va_list ap;

	/* The fault is shown in its own line of the text. */
	while (begin && text[begin - 1] != '\n')
		begin--;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	line = mem_strndup(text + begin, end - begin);
	err_at_part(err, EINVAL, line, at - begin, "%s", sentence);
	free(line);
	return -EINVAL;
}

/* The word at fault is cut: the sentence shall stay one line. */
int token_refuse(const struct sql_scan *p, const char *expected)
{
	const struct sql_word *w = &p->word;
	size_t n;

	if (p->token == TOKEN_END)
		return sql_fault(p->s->text, w->at, p->err, "the statement ends where %s is expected",
				 expected);
	n = w->n < WORD_SHOWN ? w->n : utf8_whole(p->s->text + w->at, WORD_SHOWN);
	return sql_fault(p->s->text, w->at, p->err, "%.*s stands where %s is expected", (int)n,
			 p->s->text + w->at, expected);
}

/* --- words ------------------------------------------------------------------------------------ */

/* A name may be qualified: a.b, sys:event. */
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

/* The length of the name that begins here; 0: none does. */
static size_t name_length(const char *at)
{
	size_t n = 0;

	while (is_name_char(at[n]))
		n++;
	return n;
}

/* The length of the letters here that no name has: a fault shows whole ones. */
static size_t foreign_length(const char *at)
{
	size_t n = 0;

	while ((unsigned char)at[n] >= 0x80)
		n++;
	return n;
}

/* Sets token and word. A backslash makes a name of a keyword. Before the end a word has at least
 * one character, whatever that is: so each scan comes to the end. */
void token_next(struct sql_scan *p)
{
	static const char *const pairs[] = { "<=", ">=", "==", "!=", "&&", "||", "~~" };
	size_t from = p->word.at + p->word.n;
	const char *at = p->s->text + from + strspn(p->s->text + from, " \t\r\n");
	size_t n = 1;

	p->token = TOKEN_SYMBOL;
	if (!*at) {
		p->token = TOKEN_END;
		n = 0;
	} else if (isalpha((unsigned char)*at) || *at == '_' || *at == '\\') {
		p->token = TOKEN_FIELD;
		n = (*at == '\\') + name_length(at + (*at == '\\'));
	} else if (isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]))) {
		p->token = TOKEN_NUMBER;
		n = 1 + name_length(at + 1);
	} else if (*at == '"' || *at == '\'') {
		n = string_length(at);
		p->token = n ? TOKEN_STRING : TOKEN_BAD;
		n = n ? n : 1;
	} else if (foreign_length(at)) {
		p->token = TOKEN_BAD;
		n = foreign_length(at);
		n += name_length(at + n);
	} else {
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			if (!strncmp(at, pairs[i], 2))
				n = 2;
	}
	p->word = (struct sql_word){ (size_t)(at - p->s->text), n };
}

/* Whether the word is this symbol, whole. */
bool token_is(const struct sql_scan *p, const char *symbol)
{
	return p->token == TOKEN_SYMBOL && strlen(symbol) == p->word.n &&
	       !strncmp(p->s->text + p->word.at, symbol, p->word.n);
}

/* Whether the word is this keyword, in capitals or not. */
bool token_is_word(const struct sql_scan *p, const char *keyword)
{
	return p->token == TOKEN_FIELD && strlen(keyword) == p->word.n &&
	       !strncasecmp(p->s->text + p->word.at, keyword, p->word.n);
}

/* Words that end an item, a table or a condition. */
static bool is_reserved(const struct sql_scan *p)
{
	static const char *const reserved[] = { "SELECT", "AS", "FROM", "JOIN", "ON", "WHERE",
						"AND", "OR", "NOT", "CAST", "GROUP", "ORDER",
						"HAVING", "LIMIT", "EVERY", "INNER", "LEFT",
						"DISTINCT", "UNION" };

	/* Names in sqlhist's statements. */
	static const char *const more[] = { "EXPIRE", "WITHIN" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (token_is_word(p, reserved[i]))
			return true;
	return p->s->wide && (token_is_word(p, more[0]) || token_is_word(p, more[1]));
}

/* Moves on if the word is this symbol. */
bool token_takes(struct sql_scan *p, const char *symbol)
{
	bool is = token_is(p, symbol);

	if (is)
		token_next(p);
	return is;
}

/* Moves on if the word is this keyword. */
bool token_takes_word(struct sql_scan *p, const char *keyword)
{
	bool is = token_is_word(p, keyword);

	if (is)
		token_next(p);
	return is;
}

/* Takes the symbol, or refuses what stands in its place. */
int token_take(struct sql_scan *p, const char *symbol, const char *expected)
{
	return token_takes(p, symbol) ? 0 : token_refuse(p, expected);
}

/* A name that is no keyword; one with a backslash is never a keyword. Moves on. */
int token_name(struct sql_scan *p, struct sql_word *out, const char *expected)
{
	if (p->token != TOKEN_FIELD || is_reserved(p))
		return token_refuse(p, expected);
	*out = p->word;
	if (p->s->text[out->at] == '\\') {
		out->at++;
		out->n--;
	}
	token_next(p);
	return out->n ? 0 : sql_fault(p->s->text, out->at, p->err, "behind \\ stands a name");
}

/* "[AS] NAME", if it is there. */
int token_label(struct sql_scan *p, struct sql_word *out)
{
	if (token_takes_word(p, "AS"))
		return token_name(p, out, "a name");
	if (p->token == TOKEN_FIELD && !is_reserved(p))
		return token_name(p, out, "a name");
	return 0;
}

int token_item(const struct sql_scan *p)
{
	if (p->s->items.n == SQL_ITEMS_MAX)
		return sql_fault(p->s->text, p->word.at, p->err, "at most %u values can be selected",
				 SQL_ITEMS_MAX);
	if (token_is(p, "*"))
		return sql_fault(p->s->text, p->word.at, p->err,
				 "* selects nothing here: name the fields");
	return 0;
}
