/* SPDX-License-Identifier: MIT */
/* A map from stack pointers to one number each. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct sp_map {
	struct sp_entry { uint64_t sp, value; } *at; /* sp 0: free */
	size_t n, mask;                              /* mask + 1 places, or none at all */
};

#define SP_NONE UINT64_MAX

/* The number noted for sp; SP_NONE: none. */
uint64_t sp_map_get(const struct sp_map *m, uint64_t sp); /* SP_NONE: nothing */
void sp_map_set(struct sp_map *m, uint64_t sp, uint64_t value); /* sp 0 is not kept */
void sp_map_remove(struct sp_map *m, uint64_t sp);
void sp_map_free(struct sp_map *m);
