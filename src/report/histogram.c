#include "report/histogram.h"

#include <stddef.h>
#include <stdlib.h>

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned p = 0; p < HISTOGRAM_PAGES; p++) {
		if (!from->pages[p])
			continue;
		if (!into->pages[p])
			into->pages[p] = mem_zalloc(HISTOGRAM_SUB * sizeof(uint64_t));
		for (unsigned i = 0; i < HISTOGRAM_SUB; i++)
			into->pages[p][i] += from->pages[p][i];
	}
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned page, unsigned sub)
{
	if (!page)
		return sub;
	return ((uint64_t)(HISTOGRAM_SUB + sub) << (page - 1)) + (UINT64_C(1) << (page - 1)) / 2;
}

uint64_t histogram_percentile(const struct histogram *h, uint64_t n, unsigned percent)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)n * percent + 99) / 100), seen = 0;

	for (unsigned p = 0; p < HISTOGRAM_PAGES; p++) {
		for (unsigned i = 0; h->pages[p] && i < HISTOGRAM_SUB; i++) {
			seen += h->pages[p][i];
			if (seen >= rank && seen)
				return value_of(p, i);
		}
	}
	return 0;
}

void histogram_free(struct histogram *h)
{
	for (unsigned p = 0; p < HISTOGRAM_PAGES; p++)
		free(h->pages[p]);
}
