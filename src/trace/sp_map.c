/* SPDX-License-Identifier: MIT */
/* An open hash table with linear probing, at most half full. Each process of tracks.c has three.
 * Values are indices that their owners check again, so that a stale one does no harm. */
#include "trace/sp_map.h"

#include <stdlib.h>

#include "base/mem.h"

/* sp is a multiple of 8; the factor is 2^64 divided by the golden ratio. */
static size_t hash_sp(const struct sp_map *m, uint64_t sp)
{
	return (size_t)((sp >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & m->mask;
}

/* The entry that has sp, or the free one where it belongs. */
static struct sp_entry *find_entry(const struct sp_map *m, uint64_t sp)
{
	size_t i = hash_sp(m, sp);

	while (m->at[i].sp && m->at[i].sp != sp)
		i = (i + 1) & m->mask;
	return &m->at[i];
}

uint64_t sp_map_get(const struct sp_map *m, uint64_t sp)
{
	const struct sp_entry *e = m->at && sp ? find_entry(m, sp) : NULL;

	return e && e->sp ? e->value : SP_NONE;
}

/* Doubles the table, and puts all keys in again: their places depend on the mask. */
static void grow_map(struct sp_map *m)
{
	struct sp_map old = *m;

	m->mask = old.at ? 2 * old.mask + 1 : 15;
	m->at = mem_zalloc((m->mask + 1) * sizeof(*m->at));
	for (size_t i = 0; old.at && i <= old.mask; i++)
		if (old.at[i].sp)
			*find_entry(m, old.at[i].sp) = old.at[i];
	free(old.at);
}

void sp_map_set(struct sp_map *m, uint64_t sp, uint64_t value)
{
	struct sp_entry *e;

	if (!sp)
		return;
	if (!m->at || 2 * m->n > m->mask)
		grow_map(m);
	e = find_entry(m, sp);
	m->n += !e->sp;
	*e = (struct sp_entry){ sp, value };
}

/* Later entries of the same probe sequence move up, so that no search ends at the hole. */
void sp_map_remove(struct sp_map *m, uint64_t sp)
{
	struct sp_entry *e = m->at && sp ? find_entry(m, sp) : NULL;
	size_t hole, i;

	if (!e || !e->sp)
		return;
	m->n--;
	hole = i = (size_t)(e - m->at);
	for (;;) {
		i = (i + 1) & m->mask;
		if (!m->at[i].sp)
			break;
		if (((i - hash_sp(m, m->at[i].sp)) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->at[hole] = m->at[i];
		hole = i;
	}
	m->at[hole] = (struct sp_entry){ 0 };
}

void sp_map_free(struct sp_map *m)
{
	free(m->at);
	*m = (struct sp_map){ 0 };
}
