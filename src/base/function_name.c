/* SPDX-License-Identifier: MIT */
/* Where a function's name ends in a text. Lists of functions (model/function_list.c), probes and
 * histograms call it, on any thread; nothing is kept. Nothing fails: a text that ends within a name
 * ends it. Blanks within a name are those of C++, D and Swift. */
#include "base/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

static bool is_blank(char c)
{
	return c && strchr(blanks, c);
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether n bytes of p end in the word. */
static bool ends_in(const char *p, size_t n, const char *word)
{
	size_t length = strlen(word);

	return n >= length && !memcmp(p + n - length, word, length) &&
	       (n == length || !is_of_word(p[n - length - 1]));
}

/* Whether the blank behind n bytes of p belongs to an operator's name. The type that an operator
 * converts to may be several words. */
static bool is_in_operator(const char *p, size_t n)
{
	static const char *const words[] = { "unsigned", "signed", "long", "short", "const" };
	size_t from = n;

	if (!is_of_word(p[n + 1]))
		return false;
	if (ends_in(p, n, "operator"))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ends_in(p, n, words[i]))
			from = n - strlen(words[i]);
	return from < n && from && is_blank(p[from - 1]) && is_in_operator(p, from - 1);
}

/* Length of ` const` behind the parameters of a member function, else 0. */
static size_t qualifier_length(const char *p, size_t n)
{
	static const char word[] = " const";
	const size_t length = sizeof(word) - 1;

	return n && p[n - 1] == ')' && !strncmp(p + n, word, length) && !is_of_word(p[n + length])
		       ? length
		       : 0;
}

/* The number of characters at p[n] that an operator is named by, behind the word "operator". The
 * blank between them and a template's arguments belongs to them: `operator<< <char>`. */
static size_t operator_length(const char *p, size_t n)
{
	size_t length = strspn(p + n, "+-*/%^&|~!=<>");

	if (!length || !ends_in(p, n, "operator"))
		return 0;
	return length + (p[n + length] == ' ' && p[n + length + 1] == '<');
}

/* How many characters of the text the words are, in which % is a number; 0: it begins otherwise. */
static size_t words_length(const char *p, const char *words)
{
	size_t n = 0;

	for (; *words; words++) {
		size_t length = *words == '%' ? strspn(p + n, "0123456789") : p[n] == *words;

		if (!length)
			return 0;
		n += length;
	}
	return n;
}

static size_t any_length(const char *p, const char *const words[], size_t n)
{
	size_t length = 0;

	for (size_t i = 0; i < n && !length; i++)
		length = words_length(p, words[i]);
	return length;
}

/* The length of the words that demanglers put before a function's name. */
static size_t phrase_length(const char *p)
{
	static const char *const phrases[] = {
		"non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ",
		"TLS init function for ", "TLS wrapper function for ", "D main",
		"closure #% in ", "implicit closure #% in ", "default argument % of ",
		"type metadata accessor for ", "merged ", "dispatch thunk of ",
	};
	const size_t count = sizeof(phrases) / sizeof(*phrases);
	size_t n = *p == '!', length;

	while ((length = any_length(p + n, phrases, count)))
		n += length;
	return n > (*p == '!') ? n : 0;
}

/* That of words within a name of Swift: what is local to a function, what a function returns. */
static size_t infix_length(const char *p)
{
	static const char *const words[] = {
		" #% in ", " -> ", " throws -> ", " async -> ", " async throws -> ",
	};

	return any_length(p, words, sizeof(words) / sizeof(*words));
}

static bool is_end(char c, const char *ends)
{
	return is_blank(c) || strchr(ends, c);
}

size_t function_name_length(const char *p, const char *ends)
{
	size_t n, first = 0;
	int open = 0;

	for (n = phrase_length(p); p[n]; n++) {
		const size_t symbols = operator_length(p, n);
		const size_t infix = is_blank(p[n]) ? infix_length(p + n) : 0;

		if (!first && is_end(p[n], ends))
			first = n;
		if (symbols || infix)
			n += symbols + infix - 1;
		else if (strchr("<(", p[n]))
			open++;
		else if (strchr(">)", p[n]) && open)
			open--;
		else if (!open && is_end(p[n], ends) && !qualifier_length(p, n) &&
			 !(is_blank(p[n]) && is_in_operator(p, n)))
			return n;
	}
	/* A bracket that never closes is a character of the name. */
	return open && first ? first : n;
}

char *function_name_colon(char *p)
{
	size_t length = strcspn(p, "<(");

	for (char *c = p; (c = memchr(c, ':', length - (size_t)(c - p))); c++) {
		if (c[1] != ':')
			return c;
		c++;
	}
	return NULL;
}
