/* SPDX-License-Identifier: MIT */
/* Counted on the pump's thread, read on that of a reader of the `hist` file, both under the lock of
 * whoever looks at records. The only failure is lack of memory, which ends brace. */
#include "hist/sketch.h"

static bool is_less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

/* The magnitude of a number below 0 is taken without a sign: that of the least one has no signed
 * type. */
void hist_sketch_add(struct hist_sketch *s, struct histogram_pool *pool, uint64_t value,
		     bool is_signed)
{
	if (!s->n || is_less(value, s->min, is_signed))
		s->min = value;
	if (!s->n || is_less(s->max, value, is_signed))
		s->max = value;
	s->n++;
	if (is_signed && (int64_t)value < 0) {
		s->n_below++;
		histogram_add(&s->below, pool, 0 - value);
	} else {
		histogram_add(&s->above, pool, value);
	}
}

/* Numbers below 0 come first, those of the largest magnitude before the others. */
static uint64_t value_at(const struct hist_sketch *s, uint64_t rank)
{
	if (rank <= s->n_below)
		return 0 - histogram_value(&s->below, s->n_below - rank + 1);
	return histogram_value(&s->above, rank - s->n_below);
}

/* A bucket's middle may lie outside of what was counted. */
static uint64_t percentile(const struct hist_sketch *s, unsigned percent, bool is_signed)
{
	uint64_t v = value_at(s, histogram_rank(s->n, percent));

	if (is_less(v, s->min, is_signed))
		return s->min;
	return is_less(s->max, v, is_signed) ? s->max : v;
}

/* The least and the largest are exact, percentiles as near as the buckets of base/histogram.h. */
uint64_t hist_sketch_value(const struct hist_sketch *s, enum hist_modifier m, bool is_signed)
{
	unsigned percent = hist_modifier_row(m)->percent;

	if (!s->n || m == HIST_MIN)
		return s->min;
	return m == HIST_MAX ? s->max : percentile(s, percent, is_signed);
}

void hist_sketch_free(struct hist_sketch *s)
{
	histogram_free(&s->above);
	histogram_free(&s->below);
}
