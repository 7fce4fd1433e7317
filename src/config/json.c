/* SPDX-License-Identifier: MIT */
/* A boot configuration written as JSON, as bootconfig_json() prints one: members are keys, whose
 * names may have dots; strings and numbers are values, arrays several of them, true none; the
 * member "" has the values of the key whose object it is in. Bytes are untrusted. Recursion ends at
 * the grammar's limit of open braces. bootconfig.c calls it for a text that begins as JSON does, on
 * its own thread; a fault is one sentence, at its line and column. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/parsing.h"

/* JSON's blanks: fewer than isspace() has. */
static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\r\n");
}

/* Takes the byte if it is the next one behind blanks. */
static bool take_byte(struct parser *p, char byte)
{
	skip_blanks(p);
	if (*p->at != byte)
		return false;
	p->at++;
	return true;
}

/* --- strings --------------------------------------------------------------------------------- */

/* p->at is at the opening quote. Finds the closing one, and puts p->at behind it. */
static int take_string(struct parser *p, const char **begin, const char **end)
{
	if (!take_byte(p, '"'))
		return parsing_fault(p, p->at, "A string in double quotes belongs here");
	*begin = p->at;
	while (*p->at && *p->at != '"')
		p->at += p->at[0] == '\\' && p->at[1] ? 2 : 1;
	if (!*p->at)
		return parsing_fault(p, *begin - 1, "No closing quotes");
	*end = p->at++;
	return 0;
}

/* The byte that an escape stands for, and *n its length; 0: it stands for none that a value can
 * have. */
static char escaped(const char *at, size_t *n)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *found = strchr(letters, at[1]);
	char digits[5] = "", *rest;
	long code;

	*n = 2;
	if (at[1] != 'u')
		return found && *found ? bytes[found - letters] : 0;
	memcpy(digits, at + 2, strnlen(at + 2, 4));
	code = strtol(digits, &rest, 16);
	*n = 6;
	return isxdigit((unsigned char)digits[0]) && rest == digits + 4 && code < 0x80 ? (char)code
										      : 0;
}

/* A value's text; what the kernel's grammar cannot say is refused. */
static int take_text(struct parser *p, struct bootconfig_value *v)
{
	const char *begin, *end;
	size_t used = 0;
	int e = take_string(p, &begin, &end);

	if (e)
		return e;
	v->at = (size_t)(begin - p->c->text);
	v->text = mem_zalloc((size_t)(end - begin) + 1);
	for (size_t n = 1; begin < end; begin += n) {
		char c = *begin;

		n = 1;
		if (c == '\\')
			c = escaped(begin, &n);
		if (!isprint((unsigned char)c) && !isspace((unsigned char)c))
			e = parsing_fault(p, begin, "Non printable value");
		if (e)
			return e;
		v->text[used++] = c;
	}
	if (strchr(v->text, '"') && strchr(v->text, '\''))
		return parsing_fault(p, p->c->text + v->at, "A value has one kind of quotes at most");
	return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

/* Digits, signs and letters of a number, as they stand there. */
static int take_number(struct parser *p, struct bootconfig_value *v)
{
	size_t n = strspn(p->at, "0123456789+-.eE");

	v->at = (size_t)(p->at - p->c->text);
	if (!n)
		return parsing_fault(p, p->at, "A string, a number, an array, an object or true "
					       "belongs here; a key without a value is true");
	v->text = mem_strndup(p->at, n);
	p->at += n;
	return 0;
}

/* A string or a number, as one value of the key. */
static int take_scalar(struct parser *p, uint32_t key)
{
	struct bootconfig_value v = { 0 };
	int e;

	skip_blanks(p);
	e = *p->at == '"' ? take_text(p, &v) : take_number(p, &v);
	if (!e)
		return parsing_value(p, key, &v);
	free(v.text);
	return e;
}

/* Behind the open bracket: values only, no arrays in arrays. */
static int take_array(struct parser *p, uint32_t key)
{
	int e = 0;

	if (take_byte(p, ']'))
		return 0;
	do
		e = take_scalar(p, key);
	while (!e && take_byte(p, ','));
	if (!e && !take_byte(p, ']'))
		e = parsing_fault(p, p->at, "A comma or ] belongs here");
	return e;
}

static int take_object(struct parser *p);

/* An object below the key. */
static int enter_object(struct parser *p, uint32_t key, const char *brace)
{
	const uint32_t outside = p->key;
	int e;

	if (p->depth == BOOTCONFIG_WORDS_MAX)
		return parsing_fault(p, brace, "Exceed max depth of braces");
	p->depth++;
	p->key = key;
	e = take_object(p);
	p->key = outside;
	p->depth--;
	return e;
}

/* A member's value: objects add subkeys, arrays and scalars add values, `true` adds nothing. */
static int take_any(struct parser *p, uint32_t key)
{
	const char *at;

	skip_blanks(p);
	at = p->at;
	if (*at != '{' && p->c->keys.at[key].values.n)
		return parsing_fault(p, at, "Value is redefined");
	if (take_byte(p, '{'))
		return enter_object(p, key, at);
	if (take_byte(p, '['))
		return take_array(p, key);
	if (strncmp(at, "true", 4) || isalnum((unsigned char)at[4]))
		return take_scalar(p, key);
	p->at += 4;
	return 0;
}

/* "NAME": VALUE. A name may have dots, and "" stands for the key itself. */
static int take_member(struct parser *p)
{
	const char *begin, *end;
	uint32_t key = p->key;
	int e = take_string(p, &begin, &end);

	if (!e && (begin < end || !key))
		e = parsing_key(p, begin, end, &key);
	if (!e && !take_byte(p, ':'))
		e = parsing_fault(p, p->at, "A colon belongs here");
	/* The key's own values are no object: it would be the key itself once more. */
	skip_blanks(p);
	if (!e && begin == end && *p->at == '{')
		e = parsing_fault(p, p->at, "The member \"\" has the key's own values");
	return e ? e : take_any(p, key);
}

/* Behind the open brace. */
static int take_object(struct parser *p)
{
	int e;

	if (take_byte(p, '}'))
		return 0;
	do
		e = take_member(p);
	while (!e && take_byte(p, ','));
	if (!e && !take_byte(p, '}'))
		e = parsing_fault(p, p->at, "A comma or } belongs here");
	return e;
}

/* p->at is at the text's first brace. 0, or -EINVAL and p->err. */
int parsing_json(struct parser *p)
{
	int e;

	take_byte(p, '{');
	e = take_object(p);
	skip_blanks(p);
	if (!e && *p->at)
		e = parsing_fault(p, p->at, "Nothing belongs behind the last brace");
	return e;
}
