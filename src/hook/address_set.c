/* SPDX-License-Identifier: MIT */
/* Sets of addresses for the sweep and the planner, one bit a byte of code. A planner's thread
 * builds and uses its own; memory is an eighth of the file's segments. It cannot fail. */
#include "hook/address_set.h"

#define MOST_RANGES 64 /* searched one by one */

/* Segments that overlap in the file, as only in a malformed one, would cost time and memory without
 * bound: together they may be as large as the file. */
struct address_set address_set_new(const struct sym_module *m, bool exec)
{
	struct address_set s = { 0 };
	uint64_t left = m->n_bytes;

	for (size_t i = 0; i < m->segments.n && s.ranges.n < MOST_RANGES; i++) {
		const struct sym_segment *seg = &m->segments.at[i];
		const uint8_t *bytes = seg->filesz ? sym_bytes(m, seg->vaddr, seg->filesz) : NULL;

		if (seg->exec != exec || !bytes || seg->filesz > left)
			continue;
		left -= seg->filesz;
		*vec_add(&s.ranges) = (struct address_range){
			seg->vaddr, seg->filesz, bytes, mem_zalloc(seg->filesz / 8 + 8) };
	}
	return s;
}

void address_set_free(struct address_set *s)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		free(s->ranges.at[i].bits);
	vec_free(&s->ranges);
}

/* Spans are a few bytes long: the bytes of one patch or island. */
bool address_set_any(const struct address_set *s, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		if (address_set_has(s, from))
			return true;
	return false;
}
