/* SPDX-License-Identifier: MIT */
/* Parses and matches scopes of events. settings.c owns the lists; the planner (image/) asks which
 * functions open one. Values without a lock: matching changes nothing. */
#include "model/event_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLANKS " \t\r\n"

static void free_scope(struct event_scope *s)
{
	free(s->text);
	function_list_free(&s->functions);
}

void event_scopes_free(struct event_scopes *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		free_scope(&s->at.at[i]);
	vec_free(&s->at);
}

/* Settings are values: each copy has lists of its own. */
static void add_copy(struct event_scopes *to, const struct event_scope *s)
{
	struct event_scope *new = vec_add(&to->at);

	*new = (struct event_scope){ .text = mem_strdup(s->text), .depth = s->depth };
	function_list_copy(&new->functions, &s->functions);
}

/* *to is not freed before, as with the settings' other lists. */
void event_scopes_copy(struct event_scopes *to, const struct event_scopes *from)
{
	struct event_scopes copy = { 0 };

	for (size_t i = 0; i < from->at.n; i++)
		add_copy(&copy, &from->at.at[i]);
	*to = copy;
}

/* --- the file ----------------------------------------------------------------------------- */

/* Bytes of `:DEPTH` at the word's end. C++ names have two colons, and no function's name is a
 * number. */
static size_t depth_length(const char *word, size_t n)
{
	size_t digits = 0;

	while (digits < n && word[n - 1 - digits] >= '0' && word[n - 1 - digits] <= '9')
		digits++;
	if (!digits || digits + 1 >= n || word[n - 1 - digits] != ':' ||
	    word[n - 2 - digits] == ':')
		return 0;
	return digits + 1;
}

/* Returns the place of a `:` that is not followed by a number of levels; n: there is none. A user's
 * slip has one. NAME:mod:MODULE is a word of function lists, and no slip. */
static size_t wrong_depth(const char *word, size_t n)
{
	size_t colon = n;

	while (colon && word[colon - 1] != ':')
		colon--;
	if (!colon || (colon > 1 && word[colon - 2] == ':') ||
	    (colon > 4 && !memcmp(word + colon - 5, ":mod", 4)))
		return n;
	return depth_length(word, n) ? n : colon - 1;
}

/* Says why a word is no scope; NULL: it is one. */
static const char *refuse_word(const char *word, size_t depth, long levels)
{
	if (word[0] == '!')
		return "scopes are replaced by writing all of them: `!` takes none out";
	if (depth && (levels < 1 || levels > UINT8_MAX))
		return "a scope reaches 1 to 255 levels of calls down: 1 is the function itself";
	return NULL;
}

/* Adds one word. text: all that is written, for the caret. */
static int add_word(struct event_scopes *s, const char *text, size_t at, size_t n, struct err *err)
{
	char *word = mem_strndup(text + at, n);
	size_t depth = depth_length(word, n);
	struct event_scope scope = { .text = word };
	long levels = depth ? strtol(word + n - depth + 1, NULL, 10) : 0;
	const char *fault = refuse_word(word, depth, levels);
	char *name = mem_strndup(word, n - depth);
	int e;

	if (fault)
		e = err_at(err, EINVAL, text, at + (word[0] == '!' ? 0 : n - depth), "%s", fault);
	else if (wrong_depth(word, n) < n)
		e = err_at(err, EINVAL, text, at + wrong_depth(word, n),
			   "behind `:` stands a number of levels, 1 to 255: FUNCTION:2");
	else if (s->at.n == MEMORY_SCOPES)
		e = err_at(err, E2BIG, text, at, "there are at most %u scopes", MEMORY_SCOPES);
	else
		e = function_list_write(&scope.functions, name, false, err);
	free(name);
	if (e) {
		free_scope(&scope);
		return e;
	}
	scope.depth = (uint8_t)levels;
	*vec_add(&s->at) = scope;
	return 0;
}

/* A copy is changed, and becomes the list only if all of the text is right. */
int event_scopes_write(struct event_scopes *s, const char *text, bool append, struct err *err)
{
	struct event_scopes next = { 0 };
	size_t at = strspn(text, BLANKS);
	int e = function_list_refuse_conditions(text, err);

	if (append)
		event_scopes_copy(&next, s);
	while (!e && text[at]) {
		size_t n = function_word_length(text + at);

		e = add_word(&next, text, at, n, err);
		at += n + strspn(text + at + n, BLANKS);
	}
	event_scopes_free(e ? &next : s);
	if (!e)
		*s = next;
	return e;
}

char *event_scopes_read(const struct event_scopes *s)
{
	char *text = mem_strdup("");

	for (size_t i = 0; i < s->at.n; i++) {
		char *more = mem_printf("%s%s\n", text, s->at.at[i].text);

		free(text);
		text = more;
	}
	return text;
}

/* --- what they mean ------------------------------------------------------------------------ */

/* One function may open several scopes, as their patterns may overlap. */
uint8_t event_scopes_of(const struct event_scopes *s, const char *symbol, uint64_t address,
			const char *module)
{
	uint8_t bits = 0;

	for (size_t i = 0; i < s->at.n; i++)
		if (function_list_has_at(&s->at.at[i].functions, symbol, address, module))
			bits |= (uint8_t)(1u << i);
	return bits;
}

uint8_t event_scopes_all(const struct event_scopes *s)
{
	return (uint8_t)((1u << s->at.n) - 1);
}

bool event_scopes_count(const struct event_scopes *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		if (s->at.at[i].depth)
			return true;
	return false;
}

/* The scope's place in the list; the list's length: it is not there. */
static size_t index_of_scope(const struct event_scopes *s, const char *text)
{
	size_t i = 0;

	while (i < s->at.n && strcmp(s->at.at[i].text, text) != 0)
		i++;
	return i;
}

/* Instances share what the programs are prepared for: one text is one bit, whoever wrote it. */
uint8_t event_scopes_unite(struct event_scopes *to, const struct event_scopes *from)
{
	uint8_t bits = 0;

	for (size_t i = 0; i < from->at.n; i++) {
		size_t k = index_of_scope(to, from->at.at[i].text);

		if (k == MEMORY_SCOPES)
			return 0;
		if (k == to->at.n)
			add_copy(to, &from->at.at[i]);
		bits |= (uint8_t)(1u << k);
	}
	return bits;
}

/* Equal texts have equal functions and depths. */
bool event_scopes_are_same(const struct event_scopes *a, const struct event_scopes *b)
{
	if (a->at.n != b->at.n)
		return false;
	for (size_t i = 0; i < a->at.n; i++)
		if (strcmp(a->at.at[i].text, b->at.at[i].text) != 0)
			return false;
	return true;
}
