/* SPDX-License-Identifier: MIT */
/* A growing array: VEC(struct site) sites = {0}; *vec_add(&sites) = s; sites.at[i];
 * vec_free(&sites). Elements move when it grows: keep indices, not pointers. */
#pragma once
#include <stdlib.h>

#include "base/mem.h"

#define VEC(type) struct { type *at; size_t n, cap; }

/* Makes room for `want` elements in all; at least doubles, so that appending is linear. */
#define vec_reserve(v, want)                                                          \
	((v)->cap >= (want) ? (void)0                                                 \
	 : (void)((v)->cap = (want) > 2 * (v)->cap ? (want) : 2 * (v)->cap,           \
		  (v)->at = mem_realloc((v)->at, (v)->cap, sizeof(*(v)->at))))

/* Appends an element and returns a pointer to it, uninitialised. */
#define vec_add(v) (vec_reserve(v, (v)->n + 1 > 8 ? (v)->n + 1 : 8), &(v)->at[(v)->n++])
/* Frees the array and leaves it empty and usable. */
#define vec_free(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* Binary search: the number of leading elements for which `holds` (an expression over `item`, a
 * pointer to the element) is true. The array must be partitioned by it. */
#define vec_bisect(v, item, holds)                                                    \
	({                                                                            \
		size_t bisect_low = 0, bisect_high = (v)->n;                          \
                                                                                      \
		while (bisect_low < bisect_high) {                                    \
			size_t bisect_mid = bisect_low + (bisect_high - bisect_low) / 2; \
			const __typeof__(*(v)->at) *item = &(v)->at[bisect_mid];      \
                                                                                      \
			if (holds)                                                    \
				bisect_low = bisect_mid + 1;                          \
			else                                                          \
				bisect_high = bisect_mid;                             \
		}                                                                     \
		bisect_low;                                                           \
	})
