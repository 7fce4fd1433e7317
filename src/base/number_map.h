/* SPDX-License-Identifier: MIT */
/* A map from numbers (stack pointers, ids, addresses) to one number each. Zeroed, it is empty. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct number_map {
	struct number_entry { uint64_t key, value; } *at; /* key 0: free */
	size_t n, mask;                                   /* mask + 1 places, or none at all */
};

#define NUMBER_NONE UINT64_MAX

/* The number noted for the key; NUMBER_NONE: none. */
uint64_t number_map_get(const struct number_map *m, uint64_t key);
void number_map_set(struct number_map *m, uint64_t key, uint64_t value); /* key 0 is not kept */
void number_map_remove(struct number_map *m, uint64_t key);
void number_map_free(struct number_map *m);
