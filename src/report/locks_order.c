/* SPDX-License-Identifier: MIT */
/* The orders in which locks are taken, as a graph, and its circles. Called by locks.c, on its
 * thread. Locks and orders are a program's to choose: there is a limit of both, and a search visits
 * each order once. Nothing fails: what is beyond a limit is counted. */
#include "report/locks_internal.h"

#include <string.h>

/* The locks that are held besides, which protect this order from its reverse. Two threads that both
 * hold such a lock cannot be between the two others at the same time: the circle is no deadlock.
 * Only the first ones are kept; with fewer gates more circles are told, not fewer. */
static void write_gates(struct lock_order *o, const struct lock_thread *t)
{
	for (unsigned i = 0; i < t->n_held && o->n_gates < LOCKS_GATES; i++)
		if (t->held[i].lock != o->from)
			o->gates[o->n_gates++] = t->held[i].lock;
}

/* Keeps those that are held this time, too. A gate has to be held each time: the set only ever
 * shrinks. */
static void keep_gates(struct lock_order *o, const struct lock_thread *t)
{
	unsigned kept = 0;

	for (unsigned g = 0; g < o->n_gates; g++)
		for (unsigned i = 0; i < t->n_held; i++)
			if (t->held[i].lock == o->gates[g]) {
				o->gates[kept++] = o->gates[g];
				break;
			}
	o->n_gates = kept;
}

/* An order for each lock that is held, not for the innermost one alone: A, B, C make A-C, too, and
 * C-A is its reverse. The keys are pairs of rows' numbers, and 1, since the map keeps no key 0.
 * `count` is 1 for a call, and a row's number for what a thread has added up itself. */
void locks_order_add(struct locks *l, const struct lock_thread *t, uint32_t thread, uint32_t lock,
		     uint32_t site, uint64_t count)
{
	for (unsigned i = 0; i < t->n_held; i++) {
		const struct lock_holding *h = &t->held[i];
		uint64_t key = ((uint64_t)h->lock << 32 | lock) + 1;
		uint64_t known = number_map_get(&l->by_order, key);
		struct lock_order *o;

		if (known != NUMBER_NONE) {
			o = &l->orders.at[known];
			o->count += count;
			keep_gates(o, t);
			continue;
		}
		if (l->orders.n >= LOCKS_ORDERS) {
			l->orders_left_out++;
			continue;
		}
		number_map_set(&l->by_order, key, l->orders.n);
		o = vec_add(&l->orders);
		*o = (struct lock_order){ .from = h->lock, .to = lock, .thread = thread,
					  .from_site = h->site, .site = site, .count = count };
		write_gates(o, t);
	}
}

/* --- circles -------------------------------------------------------------------------------- */

struct lock_search {
	struct locks *l;
	VEC(uint32_t) way;        /* by order: 1 + the order before it; 0: not visited */
	VEC(uint32_t) queue;
};

/* An order is queued once: so a search ends, also where the graph has circles, and LOCKS_ORDERS
 * bounds its queue. */
static void visit(struct lock_search *s, uint32_t order, uint32_t before)
{
	if (s->way.at[order])
		return;
	s->way.at[order] = before + 1;
	*vec_add(&s->queue) = order;
}

/* Orders by the lock that they begin with would be faster; there are few. LOCKS_ORDERS bounds a
 * search to a million steps, and their number to LOCKS_ORDERS. */
static void visit_from(struct lock_search *s, uint32_t lock, uint32_t before)
{
	for (uint32_t i = 0; i < s->l->orders.n; i++)
		if (s->l->orders.at[i].from == lock)
			visit(s, i, before);
}

/* Whether one further lock is held in all orders of the circle. A lock that gates all of them gates
 * the first: its gates are enough to look at. */
static bool is_gated(const struct locks *l, const struct lock_circle *c)
{
	const struct lock_order *first = &l->orders.at[c->orders[0]];

	for (unsigned g = 0; g < first->n_gates; g++) {
		unsigned in = 0;

		for (unsigned i = 0; i < c->n; i++) {
			const struct lock_order *o = &l->orders.at[c->orders[i]];

			for (unsigned k = 0; k < o->n_gates; k++)
				if (o->gates[k] == first->gates[g]) {
					in++;
					break;
				}
		}
		if (in == c->n)
			return true;
	}
	return false;
}

/* The circle that order `last` closes; each is found once, from its smallest order. The way is
 * noted backwards, from each order to the one before, and turned round at the end. One longer than
 * LOCKS_CIRCLE is dropped. */
static void keep_circle(struct lock_search *s, uint32_t first, uint32_t last)
{
	struct lock_circle c = { .n = 0 };
	uint32_t at = last;

	for (; at != first; at = s->way.at[at] - 1) {
		if (c.n == LOCKS_CIRCLE - 1 || at < first)
			return;
		c.orders[c.n++] = at;
	}
	c.orders[c.n++] = first;
	for (unsigned i = 0; i < c.n / 2; i++) {
		uint32_t swap = c.orders[i];

		c.orders[i] = c.orders[c.n - 1 - i];
		c.orders[c.n - 1 - i] = swap;
	}
	if (!is_gated(s->l, &c))
		*vec_add(&s->l->circles) = c;
}

/* The shortest way from the order's end to its begin. Breadth first: the first arrival is the
 * shortest. The search ends with it, so that an order is the smallest of one circle at most.
 * way[first] is set, so that nothing leads through the beginning again. */
static void search_from(struct lock_search *s, uint32_t first)
{
	const struct lock_order *o = &s->l->orders.at[first];

	s->queue.n = 0;
	memset(s->way.at, 0, s->way.n * sizeof(*s->way.at));
	s->way.at[first] = first + 1;
	visit_from(s, o->to, first);
	for (size_t i = 0; i < s->queue.n; i++) {
		const struct lock_order *next = &s->l->orders.at[s->queue.at[i]];

		if (next->to == o->from) {
			keep_circle(s, first, s->queue.at[i]);
			return;
		}
		visit_from(s, next->to, s->queue.at[i]);
	}
}

void locks_order_circles(struct locks *l)
{
	struct lock_search s = { .l = l };

	for (size_t i = 0; i < l->orders.n; i++)
		*vec_add(&s.way) = 0;
	for (uint32_t i = 0; i < l->orders.n && l->circles.n < LOCKS_CIRCLES; i++)
		search_from(&s, i);
	vec_free(&s.way);
	vec_free(&s.queue);
}
