/* SPDX-License-Identifier: MIT */
/* The order of rows. Stamps of one thread may step back when it moves between CPUs, and calls of a
 * trace with a threshold are recorded at their ends. Called by load.c. Fails only where there is no
 * room for the copy. */
#include "query/order.h"

#include <stdlib.h>

#include "query/call_records.h"

/* Spans of one beginning: the outer one lasts longer; of the same duration it was recorded later.
 * Other rows keep their order. */
static int by_begin(const void *a, const void *b, void *arg)
{
	const struct load *l = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct slice *x = &load_slices(l)[i], *y = &load_slices(l)[k];
	int later = i < k ? -1 : i > k;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (!l->spans)
		return later;
	return x->dur != y->dur ? (x->dur > y->dur ? -1 : 1) : -later;
}

/* Events of one time keep the order of reading, in which payloads are stored. */
static int by_time(const void *a, const void *b)
{
	const struct query_event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->payload < y->payload ? -1 : x->payload > y->payload;
}

/* Copies the slices in their order, and leads parents, and what calls took, to where they are
 * now. */
static int copy_ordered(struct load *l, const uint32_t *order, uint32_t *now, struct err *err)
{
	size_t n = load_slices_n(l);
	struct array_file copy = { .fd = -1 };
	int r = array_file_reserve(&copy, l->slices.bytes, err);
	struct slice *to;

	if (r)
		return r;
	to = array_file_add(&copy, l->slices.bytes);
	for (size_t i = 0; i < n; i++) {
		to[i] = load_slices(l)[order[i]];
		now[order[i]] = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++)
		if (to[i].parent != ROW_NONE)
			to[i].parent = now[to[i].parent];
	for (size_t i = 0; i < call_records_n(l); i++)
		call_records(l)[i].slice = now[call_records(l)[i].slice];
	array_file_free(&l->slices);
	l->slices = copy;
	return 0;
}

/* Sorts numbers of rows: parents are numbers, and have to be led to the new places. */
static int order_slices(struct load *l, struct err *err)
{
	size_t n = load_slices_n(l);
	uint32_t *order = mem_realloc(NULL, n, sizeof(*order));
	uint32_t *now = mem_realloc(NULL, n, sizeof(*now));
	int r;

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_begin, l);
	r = copy_ordered(l, order, now, err);
	free(order);
	free(now);
	return r;
}

/* A span's parent is the innermost one of its track that lasts beyond its beginning. */
static void find_parents(struct load *l)
{
	struct slice *rows = load_slices(l);

	for (size_t i = 0; i < l->tracks.n; i++)
		l->tracks.at[i].open.n = 0;
	for (size_t i = 0; i < load_slices_n(l); i++) {
		struct query_track *t = &l->tracks.at[rows[i].track];

		while (t->open.n) {
			const struct slice *top = &rows[t->open.at[t->open.n - 1]];

			if (rows[i].ts + rows[i].dur <= top->ts + top->dur)
				break;
			t->open.n--;
		}
		if (t->open.n)
			rows[i].parent = t->open.at[t->open.n - 1];
		*vec_add(&t->open) = (uint32_t)i;
	}
}

/* Parents of spans are found here, because the outer call's record comes after those of the calls
 * within it. */
int order_rows(struct load *l, struct err *err)
{
	int r = load_slices_n(l) ? order_slices(l, err) : 0;

	if (load_events_n(l))
		/* Nothing refers to events by number: they are sorted in place. */
		qsort(load_events(l), load_events_n(l), sizeof(struct query_event), by_time);
	if (!r && l->spans)
		find_parents(l);
	return r;
}
