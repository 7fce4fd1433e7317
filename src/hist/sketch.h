/* SPDX-License-Identifier: MIT */
/* All values that an entry of a histogram has counted, without keeping them: the least, the
 * largest, and buckets for percentiles (base/histogram.h). Its owner's lock protects it. */
#pragma once
#include <stdbool.h>

#include "base/histogram.h"
#include "hist/command.h"

/* Zeroed is empty. Numbers below 0 are counted by their magnitude. */
struct hist_sketch {
	uint64_t n, n_below;
	uint64_t min, max;
	struct histogram above, below;
};

/* Counts a value, whose sign counts if is_signed; pages come from the pool. */
void hist_sketch_add(struct hist_sketch *s, struct histogram_pool *pool, uint64_t value,
		     bool is_signed);
/* Returns what a modifier from HIST_MIN to HIST_P99 asks for; 0 of an empty sketch. */
uint64_t hist_sketch_value(const struct hist_sketch *s, enum hist_modifier m, bool is_signed);
/* Frees what is in it; pages are the pool's. */
void hist_sketch_free(struct hist_sketch *s);
