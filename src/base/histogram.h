/* SPDX-License-Identifier: MIT */
/* A histogram of durations, for percentiles, without keeping the durations.
 *
 * Buckets are log-linear: values up to 127 have a bucket each, above that every power of two is
 * divided into 64. A bucket is reported as its middle, so that a result is off by at most 1/128 =
 * 0.8 %.
 *
 * A program has thousands of functions with some ten powers of two each, called in no order: the
 * memory over which the counters are spread decides the speed. So a power of two is one cache line
 * of bytes, and a byte that overflows is carried into wide counters. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

#define HISTOGRAM_BITS 6
#define HISTOGRAM_SUB (1u << HISTOGRAM_BITS)
#define HISTOGRAM_PAGES (64 - HISTOGRAM_BITS + 1)

/* Allocates lines of counters, for any number of histograms. Zeroed is empty. */
struct histogram_pool {
	VEC(uint8_t *) blocks;
	size_t used; /* lines of the last block */
};

struct histogram {
	uint8_t *pages[HISTOGRAM_PAGES];  /* HISTOGRAM_SUB counters modulo 256; NULL: all 0 */
	/* HISTOGRAM_PAGES of them; NULL: nothing has overflowed */
	uint64_t (*carried)[HISTOGRAM_SUB];
};

/* The page of a value, and the shift that gives its bucket there. */
static inline unsigned histogram_page_of(uint64_t value, unsigned *shift)
{
	/* Page 0 has the values that are less: no branch asks for them. */
	const unsigned page = 64 - HISTOGRAM_BITS -
			      (unsigned)__builtin_clzll(value | (HISTOGRAM_SUB - 1));

	*shift = page - (page != 0);
	return page;
}

/* Returns where the page with the bucket of this value is, or is to be. */
static inline uint8_t **histogram_page(struct histogram *h, uint64_t value)
{
	unsigned shift;

	return &h->pages[histogram_page_of(value, &shift)];
}

/* Prefetches the counter that histogram_add will count in. */
static inline void histogram_prefetch(struct histogram *h, uint64_t value)
{
	__builtin_prefetch(*histogram_page(h, value), 1);
}

/* A zeroed line of the pool's. */
uint8_t *histogram_new_page(struct histogram_pool *pool);
/* Adds n to a bucket's wide counter. */
void histogram_carry(struct histogram *h, unsigned page, unsigned sub, uint64_t n);

/* Counts a value; new pages come from the pool. */
static inline void histogram_add(struct histogram *h, struct histogram_pool *pool, uint64_t value)
{
	unsigned shift, page = histogram_page_of(value, &shift);
	unsigned sub = value >> shift & (HISTOGRAM_SUB - 1);

	if (__builtin_expect(!h->pages[page], 0))
		h->pages[page] = histogram_new_page(pool);
	if (__builtin_expect(!++h->pages[page][sub], 0))
		histogram_carry(h, page, sub, 256);
}

/* Adds all counts of `from`. */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The rank of a percentile among n values, from 1: rounded up, so that the 99th of few values is
 * the largest. */
uint64_t histogram_rank(uint64_t n, unsigned percent);
/* The added value of that rank; 0 if there is none. */
uint64_t histogram_value(const struct histogram *h, uint64_t rank);
/* The value of rank ceil(n * percent / 100) among the n added values; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *h, uint64_t n, unsigned percent);
void histogram_free(struct histogram *h); /* frees the wide counters; lines are the pool's */
void histogram_pool_free(struct histogram_pool *pool);
