/* SPDX-License-Identifier: MIT */
/* Asks the sources of a session one after the other, in the order in which they were added. Keeps
 * no state but the list, which its session fills before any other thread starts. Failures are the
 * sources' own, and handed on. */
#include "collect/producer.h"

void producers_add(struct producers *all, struct producer *p)
{
	p->first_slot = all->n * PRODUCER_SLOTS;
	all->at[all->n++] = p;
}

void producers_free(struct producers *all)
{
	while (all->n) {
		struct producer *p = all->at[--all->n];

		p->ops->free(p);
	}
}

int producers_follow(const struct producers *all, const struct follow_request *req, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < all->n && r >= 0; i++)
		if (all->at[i]->ops->follow)
			r = all->at[i]->ops->follow(all->at[i], req, err);
	return r;
}

int producers_pass(const struct producers *all, enum producer_pass pass, drain_sink *sink,
		   void *context, uint64_t *lost, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < all->n && r >= 0; i++)
		r = all->at[i]->ops->pass(all->at[i], pass, sink, context, lost, err);
	return r;
}

bool producers_thread(const struct producers *all, uint32_t slot, struct trace_thread *out)
{
	const struct producer *p = all->at[slot_producer(slot)];

	return p->ops->thread(p, slot, out);
}

void producers_names(const struct producers *all, const struct trace_thread *of,
		     producer_name_sink *sink, void *context)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i]->ops->names)
			all->at[i]->ops->names(all->at[i], of, sink, context);
}

void producers_describe(const struct producers *all, struct trace_info *info)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i]->ops->describe)
			all->at[i]->ops->describe(all->at[i], info);
}
