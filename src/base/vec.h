/* A growing array: VEC(struct site) sites = {0}; *vec_add(&sites) = s; sites.at[i];
 * vec_free(&sites). Elements move when it grows: keep indices, not pointers. */
#pragma once
#include <stdlib.h>

#include "base/mem.h"

#define VEC(type) struct { type *at; size_t n, cap; }

#define vec_reserve(v, want)                                                          \
	((v)->cap >= (want) ? (void)0                                                 \
	 : (void)((v)->cap = (want) > 2 * (v)->cap ? (want) : 2 * (v)->cap,           \
		  (v)->at = mem_realloc((v)->at, (v)->cap, sizeof(*(v)->at))))

/* A pointer to a new, uninitialised last element. */
#define vec_add(v) (vec_reserve(v, (v)->n + 1 > 8 ? (v)->n + 1 : 8), &(v)->at[(v)->n++])
#define vec_free(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
