/* SPDX-License-Identifier: MIT */
/* Finds names like a misspelled one, for hook/why.c, probes by source and ui/missing.c: with swaps
 * of neighbours, and names that contain it. Over all functions of a module, so the distance stops
 * at a limit. No state. Any thread; nothing fails. */
#include <string.h>

#include "sym/inlined.h"

#define MAX_LENGTH 64 /* longer names are compared by their beginning */

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the insertions, deletions, changes and swaps of neighbours from a to b; any number above
 * limit when there are more. */
static unsigned edit_distance(const char *a, size_t a_n, const char *b, size_t b_n, unsigned limit)
{
	unsigned rows[3][MAX_LENGTH + 1];

	for (size_t j = 0; j <= b_n; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_n; i++) {
		/* Three rows are enough: a swap looks two rows up. */
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *above2 = rows[(i + 1) % 3];
		unsigned best = row[0] = (unsigned)i;

		for (size_t j = 1; j <= b_n; j++) {
			row[j] = min(min(above[j], row[j - 1]) + 1,
				     above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min(row[j], above2[j - 2] + 1);
			best = min(best, row[j]);
		}
		/* No later row can fall below the least value of this one. */
		if (best > limit)
			return best;
	}
	return rows[a_n % 3][b_n];
}

/* Returns 0 for the name itself; more than limit: not near. Containing the name is nearly as good
 * as equal to it. */
static unsigned name_cost(const char *wanted, size_t wanted_n, const char *name, unsigned limit)
{
	size_t n = strnlen(name, 4 * MAX_LENGTH),
	       longer = n > wanted_n ? n - wanted_n : wanted_n - n;
	unsigned holds = wanted_n >= 3 && n > wanted_n && strstr(name, wanted)
				 ? 1 + (unsigned)longer / 8
				 : limit + 1;

	if (longer > limit || n > MAX_LENGTH)
		return holds;
	return min(holds, edit_distance(wanted, wanted_n, name, n, limit));
}

struct near { const char *name; unsigned cost; };

/* The order of the answer: the cost, then shorter names, then the alphabet, so that it does not
 * depend on the file's order. */
static bool is_nearer(const struct near *a, const struct near *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name);
	return strcmp(a->name, b->name) < 0;
}

/* Inserts into the n best, sorted, each name once. Returns how many there are. */
static size_t insert_near(struct near *best, size_t have, size_t n, struct near new)
{
	size_t at = have;

	for (size_t i = 0; i < have; i++)
		if (best[i].cost == new.cost && !strcmp(best[i].name, new.name))
			return have;
	while (at > 0 && is_nearer(&new, &best[at - 1]))
		at--;
	if (at >= n)
		return have;
	have = have < n ? have + 1 : n;
	memmove(&best[at + 1], &best[at], (have - at - 1) * sizeof(*best));
	best[at] = new;
	return have;
}

size_t sym_nearest(const struct sym_module *m, const char *name, const char **out, size_t n)
{
	size_t have = 0, length = strnlen(name, MAX_LENGTH);
	/* A short name may have one change, a longer name one in four letters. */
	unsigned limit = length < 6 ? 1 : (unsigned)length / 4;
	struct near *best = mem_zalloc((n + 1) * sizeof(*best));

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		struct near new = { .name = f->cold ? NULL : sym_name(m, f) };

		if (!new.name)
			continue;
		new.cost = name_cost(name, length, new.name, limit);
		if (new.cost <= limit)
			have = insert_near(best, have, n, new);
	}
	for (size_t i = 0; i < have; i++)
		out[i] = best[i].name;
	free(best);
	return have;
}
