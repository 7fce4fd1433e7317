/* SPDX-License-Identifier: MIT */
/* The slow half of the histograms: pages, overflows, percentiles. Each worker of a report owns its
 * pool and histograms; they are merged when the workers have ended. Nothing is locked. Recording
 * itself is inline (the header). Want of memory ends brace; nothing else fails. */
#include "base/histogram.h"

#include <string.h>

/* Pages of a block. A page is HISTOGRAM_SUB counters of a byte, at a multiple of its size. */
#define BLOCK_LINES 4096

uint8_t *histogram_new_page(struct histogram_pool *pool)
{
	if (!pool->blocks.n || pool->used == BLOCK_LINES) {
		/* one line more, so that lines can begin at a multiple of the cache line */
		*vec_add(&pool->blocks) = mem_zalloc((BLOCK_LINES + 1) * HISTOGRAM_SUB);
		pool->used = 0;
	}
	return (uint8_t *)(((uintptr_t)pool->blocks.at[pool->blocks.n - 1] + HISTOGRAM_SUB - 1) &
			   ~(uintptr_t)(HISTOGRAM_SUB - 1)) + pool->used++ * HISTOGRAM_SUB;
}

void histogram_pool_free(struct histogram_pool *pool)
{
	for (size_t i = 0; i < pool->blocks.n; i++)
		free(pool->blocks.at[i]);
	vec_free(&pool->blocks);
}

void histogram_carry(struct histogram *h, unsigned page, unsigned sub, uint64_t n)
{
	if (!h->carried)
		h->carried = mem_zalloc(HISTOGRAM_PAGES * sizeof(*h->carried));
	h->carried[page][sub] += n;
}

/* A counter is a byte, with its overflow in `carried`. */
static uint64_t count_of(const struct histogram *h, unsigned page, unsigned sub)
{
	return (h->pages[page] ? h->pages[page][sub] : 0) +
	       (h->carried ? h->carried[page][sub] : 0);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned p = 0; p < HISTOGRAM_PAGES; p++) {
		for (unsigned i = 0; i < HISTOGRAM_SUB; i++) {
			uint64_t n = count_of(from, p, i);

			if (n)
				histogram_carry(into, p, i, n);
		}
	}
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned page, unsigned sub)
{
	if (!page)
		return sub;
	return ((uint64_t)(HISTOGRAM_SUB + sub) << (page - 1)) + (UINT64_C(1) << (page - 1)) / 2;
}

/* Rounded up, so that the 100th percentile is the last value and the first of three is their
 * 33rd. In 128 bits: n times 100 may exceed 64. */
uint64_t histogram_rank(uint64_t n, unsigned percent)
{
	return (uint64_t)(((unsigned __int128)n * percent + 99) / 100);
}

uint64_t histogram_value(const struct histogram *h, uint64_t rank)
{
	uint64_t seen = 0;

	for (unsigned p = 0; p < HISTOGRAM_PAGES; p++) {
		for (unsigned i = 0; i < HISTOGRAM_SUB; i++) {
			seen += count_of(h, p, i);
			if (seen >= rank && seen)
				return value_of(p, i);
		}
	}
	return 0;
}

uint64_t histogram_percentile(const struct histogram *h, uint64_t n, unsigned percent)
{
	return histogram_value(h, histogram_rank(n, percent));
}

void histogram_free(struct histogram *h)
{
	free(h->carried);
}
