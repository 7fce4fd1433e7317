/* SPDX-License-Identifier: MIT */
/* The words of brace help --search, and how well a text has one of them. Case does not count, nor
 * do endings: `locks` finds "locking". */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { SEARCH_WORDS_MAX = 16, SEARCH_WORD_MAX = 32 };

struct search_words {
	char at[SEARCH_WORDS_MAX][SEARCH_WORD_MAX]; /* stems, in small letters */
	char whole[SEARCH_WORDS_MAX][SEARCH_WORD_MAX];
	size_t n;
};

/* Takes the words of `texts`. Words that every sentence has (I, the, how) are left out, unless
 * there are no others; so are words beyond SEARCH_WORDS_MAX, and letters beyond SEARCH_WORD_MAX. */
void search_words_read(struct search_words *w, char *const *texts, int n);
/* 0: the text has no word that begins as word i; otherwise how near the best one is, at most 1. */
double search_words_in(const struct search_words *w, size_t i, const char *text);
