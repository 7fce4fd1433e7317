/* SPDX-License-Identifier: MIT */
/* Parts of a line, as the grammar of histograms splits it. Pure. */
#pragma once
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A part of the line. at NULL: absent. */
struct words {
	const char *at;
	size_t n;
};

/* Whether the words are exactly this text; absent ones are only the empty one. */
static inline bool words_are(struct words w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

/* Whether the words begin with the text. */
static inline bool words_begin(struct words w, const char *text)
{
	return w.n >= strlen(text) && !memcmp(w.at, text, strlen(text));
}

/* Whether the character is among them. */
static inline bool words_have(struct words w, char c)
{
	return w.n && memchr(w.at, c, w.n);
}

/* Splits *rest at the first c: returns what is before it; *rest is then what is behind it, or
 * absent. */
static inline struct words words_split(struct words *rest, char c)
{
	const char *at = rest->n ? memchr(rest->at, c, rest->n) : NULL;
	struct words first = *rest;

	if (!at) {
		*rest = (struct words){ NULL, 0 };
		return first;
	}
	first.n = (size_t)(at - first.at);
	*rest = (struct words){ at + 1, rest->n - first.n - 1 };
	return first;
}

/* Reads an unsigned number in C's notations, all of the words. */
static inline bool words_number(struct words w, uint64_t *out)
{
	char *text, *end;
	bool ok;

	if (!w.n || !isdigit((unsigned char)*w.at))
		return false;
	text = mem_strndup(w.at, w.n);
	errno = 0;
	*out = strtoull(text, &end, 0);
	ok = !errno && !*end;
	free(text);
	return ok;
}

/* Splits `rest` at the last c: returns what is behind it. */
static inline struct words words_behind(struct words w, char c)
{
	while (words_have(w, c))
		words_split(&w, c);
	return w;
}

/* Returns the words without the blanks at both ends. */
static inline struct words words_strip(struct words w)
{
	while (w.n && isspace((unsigned char)*w.at)) {
		w.at++;
		w.n--;
	}
	while (w.n && isspace((unsigned char)w.at[w.n - 1]))
		w.n--;
	return w;
}

/* Returns a copy with a NUL, "" of absent words; free() it. */
static inline char *words_copy(struct words w)
{
	return mem_strndup(w.n ? w.at : "", w.n);
}
