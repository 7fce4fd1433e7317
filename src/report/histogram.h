/* SPDX-License-Identifier: MIT */
/* How often which duration occurred, for percentiles, without keeping the durations.
 *
 * Log-linear: values up to 127 have a bucket each, above that every power of two is divided
 * into 64. A bucket is answered by its middle, so an answer is off by at most 1/128 = 0.8 %.
 *
 * A program has thousands of functions with ten or so powers of two each, called in no
 * order: what counts is how much memory the counters spread over. So a power of two is one
 * cache line of bytes, and a byte that overflows is carried into wide counters. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

#define HISTOGRAM_BITS 6
#define HISTOGRAM_SUB (1u << HISTOGRAM_BITS)
#define HISTOGRAM_PAGES (64 - HISTOGRAM_BITS + 1)

/* Where lines of counters come from; one for any number of histograms. Zeroed = empty. */
struct histogram_pool {
	VEC(uint8_t *) blocks;
	size_t used; /* lines of the last block */
};

struct histogram {
	uint8_t *pages[HISTOGRAM_PAGES];  /* HISTOGRAM_SUB counters modulo 256; NULL: all 0 */
	uint64_t (*carried)[HISTOGRAM_SUB]; /* HISTOGRAM_PAGES of them; NULL: nothing overflowed */
};

/* The page of a value, and by how many bits its bucket's number there is shifted. */
static inline unsigned histogram_page_of(uint64_t value, unsigned *shift)
{
	unsigned bits = value >= HISTOGRAM_SUB ? 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS : 0;

	*shift = bits;
	return value >= HISTOGRAM_SUB ? bits + 1 : 0;
}

static inline uint8_t **histogram_page(struct histogram *h, uint64_t value)
{
	unsigned shift;

	return &h->pages[histogram_page_of(value, &shift)];
}

/* Asks for the counter that histogram_add will count in. */
static inline void histogram_prefetch(struct histogram *h, uint64_t value)
{
	__builtin_prefetch(*histogram_page(h, value), 1);
}

uint8_t *histogram_new_page(struct histogram_pool *pool);
void histogram_carry(struct histogram *h, unsigned page, unsigned sub, uint64_t n);

static inline void histogram_add(struct histogram *h, struct histogram_pool *pool, uint64_t value)
{
	unsigned shift, page = histogram_page_of(value, &shift);
	unsigned sub = value >> shift & (HISTOGRAM_SUB - 1);

	if (__builtin_expect(!h->pages[page], 0))
		h->pages[page] = histogram_new_page(pool);
	if (__builtin_expect(!++h->pages[page][sub], 0))
		histogram_carry(h, page, sub, 256);
}

void histogram_merge(struct histogram *into, const struct histogram *from);
/* The value of rank ceil(n * percent / 100) of the n that were added; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *h, uint64_t n, unsigned percent);
void histogram_free(struct histogram *h); /* not its lines: they are the pool's */
void histogram_pool_free(struct histogram_pool *pool);
