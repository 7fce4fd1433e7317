/* SPDX-License-Identifier: MIT */
/* Indexes of tables, by counting: one pass for the number of rows of each key, one to place them.
 * Made by a table's cursor when a statement first needs one, kept until the query is closed. Fails
 * only where the temporary files find no room. A query belongs to one thread. table.c calls it. */
#include <string.h>

#include "query/table.h"

/* Lets go of the rows before row i, from time to time. */
static void rest_rows(const struct query *q, const struct query_table *t, size_t i)
{
	if (t->rest && i % QUERY_ROWS_AT_ONCE == 0)
		t->rest(q);
}

/* Rows of one key keep their order, so that a key's part is sorted by the sorted column as the
 * table is. */
static int place_rows(struct query *q, const struct query_table *t, struct index *x)
{
	size_t n = t->rows(q), keys = x->key->size(q);
	size_t begin_bytes = (keys + 2) * sizeof(uint32_t);
	uint32_t *begins, *rows;
	/* One row more than there are: an empty table's array has an address as well. */
	int r = array_file_reserve(&x->begins, begin_bytes, &q->err);

	if (!r)
		r = array_file_reserve(&x->rows, (n + 1) * sizeof(uint32_t), &q->err);
	if (r)
		return r;
	begins = array_file_add(&x->begins, begin_bytes);
	rows = array_file_add(&x->rows, (n + 1) * sizeof(uint32_t));
	memset(begins, 0, begin_bytes);
	/* begins[k + 2] counts the rows of k; then begins[k + 1] is where k's next one goes. */
	for (size_t i = 0; i < n; i++) {
		rest_rows(q, t, i);
		begins[x->key->of_row(q, i) + 2]++;
	}
	for (size_t k = 2; k < keys + 2; k++)
		begins[k] += begins[k - 1];
	for (size_t i = 0; i < n; i++) {
		rest_rows(q, t, i);
		rows[begins[x->key->of_row(q, i) + 1]++] = (uint32_t)i;
	}
	return 0;
}

/* NULL and q->err: no room. The index stays valid until query_close(). */
const struct index *index_of(struct query *q, const struct query_table *t,
			     const struct query_key *key)
{
	struct index *x;

	/* A key is known by its address: keys are rows of constant tables. */
	for (size_t i = 0; i < q->indexes.n; i++)
		if (q->indexes.at[i]->key == key)
			return q->indexes.at[i];
	x = mem_zalloc(sizeof(*x));
	x->key = key;
	x->rows.fd = x->begins.fd = -1;
	if (place_rows(q, t, x)) {
		index_free(x);
		return NULL;
	}
	*vec_add(&q->indexes) = x;
	return x;
}

void index_free(struct index *x)
{
	array_file_free(&x->rows);
	array_file_free(&x->begins);
	free(x);
}
