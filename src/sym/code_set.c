/* SPDX-License-Identifier: MIT */
/* Sets of code addresses as bitmaps (see the header). Built and used by the thread that opens the
 * file; they cannot fail, since a view's areas are bounded. */
#include "sym/code_set.h"

/* Bytes between areas that are covered, so that few ranges have to be searched. */
#define MAX_GAP 4096

/* qsort()'s order for ranges. */
static int by_vaddr(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* One bit a byte of code; one word more than needed where the size is a multiple of 64. */
static size_t range_words(const struct code_range *r)
{
	return r->size / 64 + 1;
}

/* Covers all executable parts of the file, and nothing yet in them. code_set_free() frees. */
struct code_set code_set_new(const struct elf_view *v)
{
	struct code_set s = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < v->code.n; i++)
		*vec_add(&s.ranges) =
			(struct code_range){ v->code.at[i].vaddr, v->code.at[i].size, NULL };
	if (s.ranges.n)
		qsort(s.ranges.at, s.ranges.n, sizeof(*s.ranges.at), by_vaddr);
	/* Joins areas that touch or nearly touch. */
	for (size_t i = 1; i < s.ranges.n; i++) {
		struct code_range *last = &s.ranges.at[n], *r = &s.ranges.at[i];
		uint64_t last_end = last->vaddr + last->size, end = r->vaddr + r->size;

		if (r->vaddr <= last_end + MAX_GAP)
			last->size = (end > last_end ? end : last_end) - last->vaddr;
		else
			s.ranges.at[++n] = *r;
	}
	s.ranges.n = s.ranges.n ? n + 1 : 0;
	for (size_t i = 0; i < s.ranges.n; i++)
		s.ranges.at[i].bits = mem_zalloc(range_words(&s.ranges.at[i]) * sizeof(uint64_t));
	return s;
}

void code_set_free(struct code_set *s)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		free(s->ranges.at[i].bits);
	vec_free(&s->ranges);
}

/* An address outside of all code is left out. `into` wraps for addresses below the range, and is
 * then larger than any size. */
void code_set_add(struct code_set *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->ranges.n; i++) {
		struct code_range *r = &s->ranges.at[i];
		uint64_t into = vaddr - r->vaddr;

		if (into < r->size) {
			r->bits[into / 64] |= UINT64_C(1) << (into % 64);
			return;
		}
	}
}

/* An address beyond the ranges is passed over. */
void code_set_remove(struct code_set *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->ranges.n; i++) {
		struct code_range *r = &s->ranges.at[i];
		uint64_t into = vaddr - r->vaddr;

		if (into < r->size)
			r->bits[into / 64] &= ~(UINT64_C(1) << (into % 64));
	}
}

bool code_set_has(const struct code_set *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		if (vaddr - s->ranges.at[i].vaddr < s->ranges.at[i].size)
			return code_range_has(&s->ranges.at[i], vaddr - s->ranges.at[i].vaddr);
	return false;
}

/* By whole words of bits. */
size_t code_set_count(const struct code_set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ranges.n; i++)
		for (size_t w = 0; w < range_words(&s->ranges.at[i]); w++)
			n += (size_t)__builtin_popcountll(s->ranges.at[i].bits[w]);
	return n;
}

/* Ascending; `out` has room for code_set_count() addresses. Each turn of the inner loop clears the
 * lowest bit. */
void code_set_list(const struct code_set *s, uint64_t *out)
{
	for (size_t i = 0; i < s->ranges.n; i++) {
		const struct code_range *r = &s->ranges.at[i];

		for (size_t w = 0; w < range_words(r); w++)
			for (uint64_t bits = r->bits[w]; bits; bits &= bits - 1)
				*out++ = r->vaddr + w * 64 + (uint64_t)__builtin_ctzll(bits);
	}
}

/* Both sets are of one view, so that their ranges are equal. */
void code_set_join(struct code_set *a, const struct code_set *b)
{
	for (size_t i = 0; i < a->ranges.n; i++)
		for (size_t w = 0; w < range_words(&a->ranges.at[i]); w++)
			a->ranges.at[i].bits[w] |= b->ranges.at[i].bits[w];
}
