/* SPDX-License-Identifier: MIT */
/* Finds names that are used more than once, by a sorted array of hashes. trace/overloads.c and ui's
 * list use it: overloads get their parameters, others need none. One thread builds a set; once
 * kept, any may ask. 8 bytes a name, where a set of strings would need them all. Nothing fails. */
#include "base/doubles.h"

#include <stdlib.h>

#include "base/table_hash.h"

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void doubles_add(struct doubles *d, const char *name)
{
	/* 64 bits: two different names of a program hardly ever get one hash, and would only get
	 * parameters that they do not need. */
	*vec_add(&d->hashes) = table_hash_text(0, name);
}

/* Before the first doubles_have(), and after the last doubles_add(). */
void doubles_keep(struct doubles *d)
{
	size_t kept = 0;
	uint64_t *at = d->hashes.at;

	if (d->hashes.n)
		qsort(at, d->hashes.n, sizeof(*at), by_value);
	/* Equal hashes are neighbours now. Each but the first of a run is kept: a name that came
	 * three times stays twice, which bsearch() does not mind. */
	for (size_t i = 1; i < d->hashes.n; i++)
		if (at[i] == at[i - 1])
			at[kept++] = at[i];
	d->hashes.n = kept;
}

bool doubles_have(const struct doubles *d, const char *name)
{
	uint64_t hash = table_hash_text(0, name);

	return d->hashes.n && bsearch(&hash, d->hashes.at, d->hashes.n, sizeof(hash), by_value);
}

void doubles_free(struct doubles *d)
{
	vec_free(&d->hashes);
}
