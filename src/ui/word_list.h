/* SPDX-License-Identifier: MIT */
/* Options whose value is a word of a short list: columns, kinds of rows. */
#pragma once

/* "no KIND WORD USE; there are ...": how the list is named where a word is not in it. */
struct word_list {
	const char *kind;         /* "column", "rows by" */
	const char *use;          /* " to sort by", or "" */
	const char *const *words;
	unsigned n;
};

/* Returns the index of `word`, compared whole; list->n: it is none of them, which is said. */
unsigned word_list_find(const struct word_list *list, const char *word);
