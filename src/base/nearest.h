/* SPDX-License-Identifier: MIT */
/* Finds the word that a user may have meant. */
#pragma once
#include <stddef.h>

/* The best of a series of candidates: the one nearest to `word` by edit distance, if it is near
 * enough to be a slip of the fingers. Set `word`, zero the rest, call nearest_offer() for each
 * candidate, then read `best` (NULL: none is near). */
struct nearest {
	const char *word, *best;
	size_t distance;
};

/* Offers a candidate, which must live as long as `best` is used. The first of several equally near
 * ones wins. */
void nearest_offer(struct nearest *n, const char *candidate);
