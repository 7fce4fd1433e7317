/* SPDX-License-Identifier: MIT */
/* A binary heap in a VEC of pointers; at[0] is the item that comes before all others. `before(a,
 * b)` is an inline function and the only thing known of the items. J. W. J. Williams, "Algorithm
 * 232: Heapsort" (1964). */
#pragma once
#include "base/vec.h"

/* Restores the heap after at[0] was replaced or its key grew. */
#define heap_sift(h, before)                                                                          \
	do {                                                                                            \
		__typeof__((h)->at) heap_at = (h)->at;                                                  \
		__typeof__(*heap_at) heap_item = heap_at[0];                                            \
		size_t heap_i = 0;                                                                      \
                                                                                                        \
		for (size_t child; (child = 2 * heap_i + 1) < (h)->n; heap_i = child) {                 \
			if (child + 1 < (h)->n && before(heap_at[child + 1], heap_at[child]))           \
				child++;                                                                \
			if (!before(heap_at[child], heap_item))                                         \
				break;                                                                  \
			heap_at[heap_i] = heap_at[child];                                               \
		}                                                                                       \
		heap_at[heap_i] = heap_item;                                                            \
	} while (0)

/* Adds an item; O(log n). */
#define heap_push(h, item, before)                                                                      \
	do {                                                                                            \
		__typeof__(*(h)->at) heap_item = (item);                                                \
		size_t heap_i = (h)->n;                                                                 \
                                                                                                        \
		vec_add(h);                                                                             \
		while (heap_i && before(heap_item, (h)->at[(heap_i - 1) / 2])) {                        \
			(h)->at[heap_i] = (h)->at[(heap_i - 1) / 2];                                    \
			heap_i = (heap_i - 1) / 2;                                                      \
		}                                                                                       \
		(h)->at[heap_i] = heap_item;                                                            \
	} while (0)

/* Removes at[0]; the heap must not be empty. */
#define heap_pop(h, before)                                                                             \
	do {                                                                                            \
		(h)->at[0] = (h)->at[--(h)->n];                                                         \
		if ((h)->n)                                                                             \
			heap_sift(h, before);                                                         \
	} while (0)
