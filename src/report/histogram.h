/* How often which duration occurred, for percentiles, without keeping the durations.
 *
 * Log-linear: values up to 127 have a bucket each, above that every power of two is divided
 * into 64. A bucket is answered by its middle, so an answer is off by at most 1/128 = 0.8 %.
 * Memory is taken a power of two at a time: most functions need a few. */
#pragma once
#include <stdint.h>

#include "base/mem.h"

#define HISTOGRAM_BITS 6
#define HISTOGRAM_SUB (1u << HISTOGRAM_BITS)
#define HISTOGRAM_PAGES (64 - HISTOGRAM_BITS + 1)

struct histogram {
	uint64_t *pages[HISTOGRAM_PAGES]; /* HISTOGRAM_SUB counts each; NULL: all 0 */
};

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	unsigned page = 0, shift = 0;

	if (value >= HISTOGRAM_SUB) {
		shift = 63 - HISTOGRAM_BITS - (unsigned)__builtin_clzll(value);
		page = shift + 1;
	}
	if (__builtin_expect(!h->pages[page], 0))
		h->pages[page] = mem_zalloc(HISTOGRAM_SUB * sizeof(uint64_t));
	h->pages[page][value >> shift & (HISTOGRAM_SUB - 1)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from);
/* The value of rank ceil(n * percent / 100) of the n that were added; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *h, uint64_t n, unsigned percent);
void histogram_free(struct histogram *h);
