/* SPDX-License-Identifier: MIT */
/* Rows that threads have added up themselves (shared/locks.h), added to the table's. Called by
 * locks.c, on its thread. The words may be anybody's: a row that is too short, or of no kind, is
 * left out. */
#include "report/locks_internal.h"

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Several threads have rows of one lock: sums add up, and of the longest ones the longest counts.
 * Times are ticks on both sides. */
static void add_sums(struct lock_sums *s, const uint64_t *row)
{
	s->acquired += row[LOCK_ROW_ACQUIRED];
	s->contended += row[LOCK_ROW_CONTENDED];
	s->wait += row[LOCK_ROW_WAIT];
	s->wait_max = most(s->wait_max, row[LOCK_ROW_WAIT_MAX]);
	s->held += row[LOCK_ROW_HELD];
	s->hold += row[LOCK_ROW_HOLD];
	s->hold_max = most(s->hold_max, row[LOCK_ROW_HOLD_MAX]);
}

/* Threads' rows come one thread after the other: the first place is that of the earliest. */
static void note_first(struct locks *l, struct lock_row *r, uint32_t site, const struct event *e)
{
	if (!e->payload[LOCK_ROW_ACQUIRED] || (r->site != NO_LOCK && r->tsc <= e->tsc))
		return;
	r->site = site;
	r->tsc = e->tsc;
}

/* Releases of what the thread did not hold are counted first: they count also where the table has
 * no room for the lock. A row without a place is the lock's alone; one of another place is a row of
 * its own, so that a lock's sums are those of all its places. */
static void take_sums(struct locks *l, const struct event *e, enum lock_kind kind)
{
	const struct trace_thread *t = &l->info->threads.at[e->thread];
	const uint64_t *row = e->payload;
	uint32_t lock = locks_row(l, t->pid, row[LOCK_ROW_LOCK], kind), site;

	l->foreign += row[LOCK_ROW_FOREIGN];
	if (lock == NO_LOCK)
		return;
	add_sums(&l->locks.at[lock].sums, row);
	if (!row[LOCK_ROW_SITE])
		return;
	site = locks_site(l, t->image, row[LOCK_ROW_SITE], kind, e->tsc);
	add_sums(&l->sites.at[site].sums, row);
	note_first(l, &l->locks.at[lock], site, e);
}

/* The locks that were held, as the thread would hold them. So locks_order_add() serves rows and
 * calls alike. A kind that does not exist makes the whole row damaged: no order is made of it.
 * LOCK_ORDER_HELD is less than LOCKS_HELD, which is the room there. */
static void take_order(struct locks *l, const struct event *e, enum lock_kind kind, unsigned n)
{
	const struct trace_thread *t = &l->info->threads.at[e->thread];
	const uint64_t *row = e->payload, *held = row + LOCK_ROW_HELD_AT;
	uint32_t lock = locks_row(l, t->pid, row[LOCK_ROW_LOCK], kind);
	struct lock_thread holds = { .n_held = 0 };

	for (unsigned i = 0; i < n; i++) {
		enum lock_kind of = held[2 * i] >> LOCK_KIND_SHIFT;
		uint64_t address = held[2 * i] & ((UINT64_C(1) << LOCK_KIND_SHIFT) - 1);
		struct lock_holding *h = &holds.held[holds.n_held];

		if (of >= LOCK_KINDS_N)
			return;
		h->lock = locks_row(l, t->pid, address, of);
		h->site = locks_site(l, t->image, held[2 * i + 1], of, e->tsc);
		holds.n_held += h->lock != NO_LOCK;
	}
	if (lock != NO_LOCK)
		locks_order_add(l, &holds, e->thread, lock,
				locks_site(l, t->image, row[LOCK_ROW_SITE], kind, e->tsc),
				row[LOCK_ROW_ACQUIRED]);
}

/* The payload is bytes of a file. Its length is checked before any word is read: first for the
 * words that all rows have, then for those of its sort. The count of held locks is the record's own
 * word and is bounded before it is multiplied. */
void locks_take_row(struct locks *l, const struct event *e)
{
	uint64_t about = e->count >= 8 * LOCK_ROW_HELD_AT ? e->payload[LOCK_ROW_ABOUT] : UINT64_MAX;
	unsigned held = about >> 16 & 0xff;
	enum lock_kind kind = about & 0xff;

	if (kind >= LOCK_KINDS_N)
		return;
	if (!(about & LOCK_ROW_ORDER) && e->count >= 8 * LOCK_ROW_WORDS)
		take_sums(l, e, kind);
	else if (about & LOCK_ROW_ORDER && held <= LOCK_ORDER_HELD &&
		 e->count >= 8 * (LOCK_ROW_HELD_AT + 2 * held))
		take_order(l, e, kind, held);
}
