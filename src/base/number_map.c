/* SPDX-License-Identifier: MIT */
/* An open hash table with linear probing, at most half full. Readers of traces (trace/, report/,
 * export/) and the tree (instance/) use it; a map belongs to one thread, or to a lock. Its numbers
 * may be a program's to choose: table_hash.h keeps them apart.
 * Nothing fails. */
#include "base/number_map.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/table_hash.h"

static size_t place_of(const struct number_map *m, uint64_t key)
{
	return (size_t)table_hash_number(key) & m->mask;
}

/* The entry that has key, or the free one where it belongs. */
static struct number_entry *find_entry(const struct number_map *m, uint64_t key)
{
	size_t i = place_of(m, key);

	while (m->at[i].key && m->at[i].key != key)
		i = (i + 1) & m->mask;
	return &m->at[i];
}

uint64_t number_map_get(const struct number_map *m, uint64_t key)
{
	const struct number_entry *e = m->at && key ? find_entry(m, key) : NULL;

	return e && e->key ? e->value : NUMBER_NONE;
}

/* Doubles the table, and puts all keys in again: their places depend on the mask. */
static void grow_map(struct number_map *m)
{
	struct number_map old = *m;

	m->mask = old.at ? 2 * old.mask + 1 : 15;
	m->at = mem_zalloc((m->mask + 1) * sizeof(*m->at));
	for (size_t i = 0; old.at && i <= old.mask; i++)
		if (old.at[i].key)
			*find_entry(m, old.at[i].key) = old.at[i];
	free(old.at);
}

void number_map_set(struct number_map *m, uint64_t key, uint64_t value)
{
	struct number_entry *e;

	if (!key)
		return;
	if (!m->at || 2 * m->n > m->mask)
		grow_map(m);
	e = find_entry(m, key);
	m->n += !e->key;
	*e = (struct number_entry){ key, value };
}

/* Later entries of the same probe sequence move up, so that no search ends at the hole. */
void number_map_remove(struct number_map *m, uint64_t key)
{
	struct number_entry *e = m->at && key ? find_entry(m, key) : NULL;
	size_t hole, i;

	if (!e || !e->key)
		return;
	m->n--;
	hole = i = (size_t)(e - m->at);
	for (;;) {
		i = (i + 1) & m->mask;
		if (!m->at[i].key)
			break;
		if (((i - place_of(m, m->at[i].key)) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->at[hole] = m->at[i];
		hole = i;
	}
	m->at[hole] = (struct number_entry){ 0 };
}

void number_map_free(struct number_map *m)
{
	free(m->at);
	*m = (struct number_map){ 0 };
}
