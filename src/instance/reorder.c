/* SPDX-License-Identifier: MIT */
/* A queue of one CPU's binary records, sorted by insertion: records arrive nearly sorted, so that
 * few are moved. buffer_raw.c owns one per CPU and calls it under its lock. Nothing fails. */
#include "instance/reorder.h"

#include <string.h>

/* Inserts behind records of the same time: those stay in the order in which they came. vec_add()
 * may move the records; its answer is not needed, as the new place is the last one. */
static void insert_record(struct reorder *o, const struct reorder_record *r)
{
	size_t i;

	vec_add(&o->records);
	for (i = o->records.n - 1; i > o->first && o->records.at[i - 1].ns > r->ns; i--)
		o->records.at[i] = o->records.at[i - 1];
	o->records.at[i] = *r;
}

void reorder_add(struct reorder *o, uint64_t ns, const void *record, size_t n)
{
	const struct reorder_record r = { .ns = ns, .at = o->bytes.n, .n = (uint32_t)n };

	vec_reserve(&o->bytes, o->bytes.n + n);
	memcpy(o->bytes.at + o->bytes.n, record, n);
	o->bytes.n += n;
	insert_record(o, &r);
}

void reorder_miss(struct reorder *o, uint64_t ns, uint64_t n)
{
	const struct reorder_record r = { .ns = ns, .missed = n };

	if (n)
		insert_record(o, &r);
}

/* Frees the space of released records by copying the rest, when at least half (and 1024) are
 * released: each record is copied about once. */
static void compact_records(struct reorder *o)
{
	struct reorder rest = { 0 };

	if (o->first < o->records.n && (o->first < 1024 || o->first < o->records.n / 2))
		return;
	for (size_t i = o->first; i < o->records.n; i++) {
		const struct reorder_record *r = &o->records.at[i];

		if (r->missed)
			reorder_miss(&rest, r->ns, r->missed);
		else
			reorder_add(&rest, r->ns, o->bytes.at + r->at, r->n);
	}
	reorder_free(o);
	*o = rest;
}

/* Losses wait in the queue as records do, so that a page tells them at their place in time. */
void reorder_release(struct reorder *o, uint64_t until_ns, struct pages *to)
{
	for (; o->first < o->records.n && o->records.at[o->first].ns <= until_ns; o->first++) {
		const struct reorder_record *r = &o->records.at[o->first];

		if (r->missed)
			pages_miss(to, r->missed);
		else
			pages_add(to, r->ns, o->bytes.at + r->at, r->n);
	}
	compact_records(o);
}

bool reorder_is_empty(const struct reorder *o)
{
	return o->first == o->records.n;
}

void reorder_free(struct reorder *o)
{
	vec_free(&o->records);
	vec_free(&o->bytes);
	o->first = 0;
}
