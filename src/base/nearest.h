/* SPDX-License-Identifier: MIT */
/* What the user may have meant. */
#pragma once
#include <stddef.h>

/* A row of candidates; the nearest to `word` by edit distance, if it is near enough to be a
 * slip of the fingers. Call nearest_offer for each, then read `best` (NULL: none). */
struct nearest {
	const char *word, *best;
	size_t distance;
};

void nearest_offer(struct nearest *n, const char *candidate);
