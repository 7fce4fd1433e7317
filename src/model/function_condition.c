/* SPDX-License-Identifier: MIT */
/* Finds conditions in the text of function lists, and compiles them on trial: function_list.c calls
 * it for each word that is written. No state. Types are not known here, so that only the grammar is
 * checked; image/conditions.c compiles for each function. Any thread. A condition that does not
 * parse is its place and a sentence. */
#include "model/function_condition.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "event/filter_compile.h"

static const char in_line[] = " \t";

/* Bytes of ` if ` at p, without the condition. */
static size_t if_length(const char *p)
{
	size_t n = strspn(p, in_line);

	if (!n || strncmp(p + n, "if", 2))
		return 0;
	n += 2;
	/* Not a name that begins with it. */
	if (p[n] != '(' && p[n] != '\n' && !strchr(in_line, p[n]))
		return 0;
	return n + strspn(p + n, in_line);
}

/* Bytes from " if " to the end of the line; 0: there is none. */
size_t function_condition_length(const char *p)
{
	size_t n = if_length(p);

	return n ? n + strcspn(p + n, "\n") : 0;
}

/* Where the condition itself begins; 0: the word has none. */
size_t function_condition_at(const char *word)
{
	for (size_t i = strcspn(word, in_line); word[i]; i += 1 + strcspn(word + i + 1, in_line))
		if (if_length(word + i))
			return i + if_length(word + i);
	return 0;
}

/* --- terms about the returned value ---------------------------------------------------------- */

static const char retval[] = "$retval";
#define RETVAL_BYTES (sizeof(retval) - 1)
_Static_assert(sizeof(FUNCTION_RETURNED) == sizeof(retval), "columns stay");

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Follows quotes and parentheses through a condition. */
struct scan { char quote; int depth; };

/* True if the character is outside of quotes. */
static bool scan_to(struct scan *s, char c)
{
	if (s->quote || c == '"' || c == '\'') {
		s->quote = !s->quote ? c : s->quote == c ? 0 : s->quote;
		return false;
	}
	s->depth += (c == '(') - (c == ')');
	return true;
}

/* Bytes of the first term of the text, up to `&&` outside of parentheses, or to the end. If `||`
 * stands outside of them, all is one term. */
static size_t term_length(const char *text)
{
	struct scan s = { 0 };
	size_t end = 0;

	for (size_t i = 0; text[i]; i++) {
		if (!scan_to(&s, text[i]) || s.depth > 0)
			continue;
		if (text[i] == '|' && text[i + 1] == '|')
			return strlen(text);
		if (!end && text[i] == '&' && text[i + 1] == '&')
			end = i;
	}
	return end ? end : strlen(text);
}

static bool is_retval(const char *p)
{
	return !strncmp(p, retval, RETVAL_BYTES) && !is_name(p[RETVAL_BYTES]);
}

/* Where the first `$retval` of a term is; n: there is none. */
static size_t find_retval(const char *term, size_t n)
{
	struct scan s = { 0 };

	for (size_t i = 0; i < n; i++)
		if (scan_to(&s, term[i]) && is_retval(term + i))
			return i;
	return n;
}

/* Where a term names something else, which an operator follows; n: it does not. */
static size_t find_other(const char *term, size_t n)
{
	struct scan s = { 0 };

	for (size_t i = 0; i < n; i++) {
		size_t name = 0, operator;

		if (!scan_to(&s, term[i]))
			continue;
		while (i + name < n && is_name(term[i + name]))
			name++;
		operator = i + name + strspn(term + i + name, in_line);
		if (name && !isdigit((unsigned char)term[i]) && (!i || term[i - 1] != '$') &&
		    operator < n && strchr("~=!<>&", term[operator]) &&
		    strncmp(term + operator, "&&", 2))
			return i;
		i += name ? name - 1 : 0;
	}
	return n;
}

/* Copies a term with FUNCTION_RETURNED for each `$retval`. */
static void take_term(char *to, const char *term, size_t n)
{
	memcpy(to, term, n);
	for (size_t at; (at = find_retval(to, n)) < n;)
		memcpy(to + at, FUNCTION_RETURNED, RETVAL_BYTES);
}

/* Puts `&&` between the text's terms again, in front of this one. */
static void join_term(char *text, size_t at)
{
	if (text[strspn(text, in_line)] && at >= 2)
		memcpy(text + at - 2, "&&", 2);
}

/* Terms keep their columns: each half is as long as the whole, with blanks for the other's terms.
 * NULL, or the sentence of a fault at *fault. */
const char *function_condition_split(char *condition, char **returned, size_t *fault)
{
	size_t all = strlen(condition), n;
	char *entry;

	*returned = NULL;
	if (find_retval(condition, all) == all)
		return NULL;
	entry = mem_printf("%*s", (int)all, "");
	*returned = mem_printf("%*s", (int)all, "");
	for (size_t at = 0; at < all; at += n + 2) {
		char *to;

		n = term_length(condition + at);
		to = find_retval(condition + at, n) < n ? *returned : entry;
		if (to == *returned && find_other(condition + at, n) < n) {
			*fault = at + find_other(condition + at, n);
			free(entry);
			return "terms about arguments and about $retval are joined by && alone, "
			       "outside of parentheses";
		}
		join_term(to, at);
		take_term(to + at, condition + at, n);
	}
	memcpy(condition, entry, all);
	if (!entry[strspn(entry, in_line)])
		*condition = '\0';
	free(entry);
	return NULL;
}

/* --- floating-point numbers ------------------------------------------------------------------ */

/* A whole number that compares as the double does. */
int64_t function_condition_order(double number)
{
	int64_t bits;

	if (number == 0)
		number = 0; /* -0 */
	memcpy(&bits, &number, sizeof(bits));
	/* The greater bits of negative ones are the smaller number. */
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* Bytes of the number behind an operator at p; 0: there is none. */
static size_t number_length(const char *p, double *number)
{
	const char *digit = p + (*p == '-' || *p == '+');
	char *end;

	if (!isdigit((unsigned char)*digit) && *digit != '.')
		return 0;
	*number = strtod(p, &end);
	return (size_t)(end - p);
}

/* A fraction or an exponent, which an integer does not have. */
static bool is_fraction(const char *p, size_t n)
{
	bool hex = strcspn(p, "xX") < n;

	return strcspn(p, hex ? ".pP" : ".eE") < n;
}

/* fractions: those alone are replaced, by a 0 as long, so that columns stay. */
static char *replace_numbers(const char *condition, bool fractions)
{
	char *out = mem_zalloc(strlen(condition) * 24 + 1), *to = out;
	struct scan s = { 0 };
	bool behind = false;
	double number;

	for (const char *p = condition; *p;) {
		bool outside = scan_to(&s, *p);
		size_t n = outside && behind ? number_length(p, &number) : 0;

		behind = outside && (strchr("=<>!", *p) || (behind && strchr(in_line, *p)));
		if (!n || (fractions && !is_fraction(p, n))) {
			*to++ = *p++;
			continue;
		}
		to += fractions ? sprintf(to, "%-*d", (int)n, 0)
				: sprintf(to, "%lld", (long long)function_condition_order(number));
		p += n;
	}
	return out;
}

char *function_condition_ordered(const char *condition)
{
	return replace_numbers(condition, false);
}

/* --- the trial ------------------------------------------------------------------------------ */

struct trial {
	VEC(struct event_field) fields;
	VEC(char *) names;
};

static struct event_field *find_field(const struct trial *t, const char *name, size_t n)
{
	for (size_t i = 0; i < t->fields.n; i++)
		if (strlen(t->names.at[i]) == n && !memcmp(t->names.at[i], name, n))
			return &t->fields.at[i];
	return NULL;
}

/* Takes a name as a field if an operator follows: a string if it is compared with one, a number
 * with a sign if with a negative one. */
static void add_field(struct trial *t, const char *name, size_t n)
{
	static const struct event_field text = { "__data_loc char[]", NULL, 8, 4, false };
	static const struct event_field number = { "long", NULL, 8, 8, false };
	const char *p = name + n + strspn(name + n, in_line);
	size_t operator = strspn(p, "~=!<>&");
	struct event_field *f;

	if (!operator || !strncmp(p, "&&", 2))
		return;
	p += operator;
	p += strspn(p, in_line);
	f = find_field(t, name, n);
	if (!f) {
		f = vec_add(&t->fields);
		*f = *p == '"' || *p == '\'' ? text : number;
		f->name = *vec_add(&t->names) = mem_strndup(name, n);
	}
	f->is_signed |= *p == '-';
}

/* Names between quotes are none. */
static void collect_fields(struct trial *t, const char *text)
{
	char quote = 0;

	for (size_t i = 0; text[i]; i++) {
		size_t n = 0;

		if (quote || text[i] == '"' || text[i] == '\'') {
			quote = !quote ? text[i] : text[i] == quote ? 0 : quote;
			continue;
		}
		while (is_name(text[i + n]))
			n++;
		if (n && !isdigit((unsigned char)text[i]))
			add_field(t, text + i, n);
		i += n ? n - 1 : 0;
	}
}

/* From the kernel's positions, which are behind or before the word at fault, to the word itself. */
size_t function_condition_column(const struct filter_fault *f)
{
	size_t at = f->position < f->length ? f->position : f->length;

	switch (f->error) {
	case FILTER_TOO_MANY_OPEN: case FILTER_TOO_MANY_CLOSE: case FILTER_MISSING_QUOTE:
	case FILTER_ERROR_OTHER: case FILTER_TOO_MANY_PREDICATES: case FILTER_NO_FILTER:
	case FILTER_MEANINGLESS:
		return at;
	case FILTER_FIELD_NOT_FOUND:
		/* The position is behind the name. */
		at = f->position - 1;
		while (at && is_name(f->text[at - 1]))
			at--;
		return at;
	default:
		return f->position && f->position - 1 < f->length ? f->position - 1 : at;
	}
}

/* A shell that took `$retval` for a variable of its own leaves ` < 3`, which has no name. */
static const char *fault_sentence(const struct filter_fault *f, const char *condition)
{
	static const char wanted[] = "an argument's name, an operator and a value are wanted";
	const char *first = condition + strspn(condition, in_line);

	if (f->error == FILTER_ERROR_OTHER && *first && strchr("<>=!&~", *first))
		return "a name is missing before the operator: in a shell, $retval and $arg1 stand in "
		       "single quotes";
	if (f->error == FILTER_ERROR_OTHER)
		return *first ? wanted : "it is empty";
	return f->error == FILTER_FIELD_NOT_FOUND ? wanted : filter_fault_sentence(f);
}

/* Compiled against made-up fields of every name that occurs: so the grammar is checked before any
 * function is known. */
static const char *check_terms(const char *condition, size_t *fault)
{
	struct trial t = { 0 };
	struct event_format format = { "brace", "call", 0, NULL, 0, NULL };
	const struct filter_context context = { 0 };
	struct filter_program *program;
	struct filter_fault f;
	const char *sentence = NULL;

	collect_fields(&t, condition);
	format.fields = t.fields.at;
	format.n = t.fields.n;
	if (filter_compile(&format, condition, strlen(condition), &context, &program, &f) == 0) {
		free(program);
	} else {
		*fault = function_condition_column(&f);
		sentence = fault_sentence(&f, condition);
	}
	for (size_t i = 0; i < t.names.n; i++)
		free(t.names.at[i]);
	vec_free(&t.names);
	vec_free(&t.fields);
	return sentence;
}

const char *function_condition_check(const char *condition, size_t *fault)
{
	char *text = replace_numbers(condition, true);
	const char *sentence = check_terms(text, fault);

	free(text);
	return sentence;
}
