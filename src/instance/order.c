/* SPDX-License-Identifier: MIT */
#include "instance/order.h"

#include <string.h>

/* Records of the same time stay in the order in which they came. */
static void insert(struct order *o, const struct order_record *r)
{
	size_t i;

	vec_add(&o->records);
	for (i = o->records.n - 1; i > o->first && o->records.at[i - 1].ns > r->ns; i--)
		o->records.at[i] = o->records.at[i - 1];
	o->records.at[i] = *r;
}

void order_add(struct order *o, uint64_t ns, const void *record, size_t n)
{
	const struct order_record r = { .ns = ns, .at = o->bytes.n, .n = (uint32_t)n };

	vec_reserve(&o->bytes, o->bytes.n + n);
	memcpy(o->bytes.at + o->bytes.n, record, n);
	o->bytes.n += n;
	insert(o, &r);
}

void order_miss(struct order *o, uint64_t ns, uint64_t n)
{
	const struct order_record r = { .ns = ns, .missed = n };

	if (n)
		insert(o, &r);
}

/* What is left moves to the front, as soon as it is the shorter part. */
static void close_up(struct order *o)
{
	struct order rest = { 0 };

	if (o->first < o->records.n && (o->first < 1024 || o->first < o->records.n / 2))
		return;
	for (size_t i = o->first; i < o->records.n; i++) {
		const struct order_record *r = &o->records.at[i];

		if (r->missed)
			order_miss(&rest, r->ns, r->missed);
		else
			order_add(&rest, r->ns, o->bytes.at + r->at, r->n);
	}
	order_free(o);
	*o = rest;
}

void order_release(struct order *o, uint64_t until_ns, struct pages *to)
{
	for (; o->first < o->records.n && o->records.at[o->first].ns <= until_ns; o->first++) {
		const struct order_record *r = &o->records.at[o->first];

		if (r->missed)
			pages_miss(to, r->missed);
		else
			pages_add(to, r->ns, o->bytes.at + r->at, r->n);
	}
	close_up(o);
}

bool order_is_empty(const struct order *o)
{
	return o->first == o->records.n;
}

void order_free(struct order *o)
{
	vec_free(&o->records);
	vec_free(&o->bytes);
	o->first = 0;
}
