/* SPDX-License-Identifier: MIT */
/* A set of file addresses: one bit for each byte that the file puts into memory. Private to
 * src/hook. */
#pragma once
#include "sym/module.h"

struct address_range {
	uint64_t vaddr, size;
	const uint8_t *bytes;  /* of the file */
	uint64_t *bits;
};

struct address_set { VEC(struct address_range) ranges; };

/* Returns an empty set over the file's part of the executable segments, or of the others. */
struct address_set address_set_new(const struct sym_module *m, bool exec);
void address_set_free(struct address_set *s);

/* Returns the range around vaddr, or NULL. */
static inline const struct address_range *address_set_range(const struct address_set *s,
							    uint64_t vaddr)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		if (vaddr - s->ranges.at[i].vaddr < s->ranges.at[i].size)
			return &s->ranges.at[i];
	return NULL;
}

/* Adds vaddr; an address outside of all ranges is ignored. */
static inline void address_set_add(struct address_set *s, uint64_t vaddr)
{
	const struct address_range *r = address_set_range(s, vaddr);

	if (r)
		r->bits[(vaddr - r->vaddr) / 64] |= UINT64_C(1) << ((vaddr - r->vaddr) % 64);
}

/* False for addresses outside of all ranges. */
static inline bool address_set_has(const struct address_set *s, uint64_t vaddr)
{
	const struct address_range *r = address_set_range(s, vaddr);

	return r && (r->bits[(vaddr - r->vaddr) / 64] >> ((vaddr - r->vaddr) % 64) & 1);
}

/* True if any address in [from, to) is in the set. */
bool address_set_any(const struct address_set *s, uint64_t from, uint64_t to);
