/* SPDX-License-Identifier: MIT */
/* "Did you mean ...": edit distance by dynamic programming in one row, on the stack. Error paths of
 * the parsers call it; nothing is allocated, and words of 64 characters and more are not compared.
 * Any thread. */
#include "base/nearest.h"

#include <string.h>

#define LONGEST 64

/* The cheapest of insertion, deletion and replacement. */
static size_t least_of(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Insertions, deletions and replacements from a to b (both shorter than LONGEST). */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[LONGEST + 1], nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];

			row[j] = least_of(above + 1, row[j - 1] + 1,
					  diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t length = strlen(n->word), d;

	if (length >= LONGEST || strlen(candidate) >= LONGEST)
		return;
	d = edit_distance(n->word, candidate);
	/* At most one slip, and one more for every three characters. A candidate for which every
	 * character would have to change is none. */
	if (d > 1 + length / 3 || d >= strlen(candidate) || (n->best && d >= n->distance))
		return;
	n->best = candidate;
	n->distance = d;
}
