/* SPDX-License-Identifier: MIT */
/* /proc/self/maps without libc. The reader holds its buffer: callers on small stacks make it
 * static. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct own_maps { long fd; char bytes[1024]; long at, n; bool failed; /* to read it to its end */ };

struct own_map {
	uint64_t start, end;
	bool text; /* executable, private and of a file: a mapping as loaders make it */
	bool exec;
};

/* Opens the maps; one of the process's descriptors is in use until own_maps_close(). False: they
 * cannot be opened. */
bool own_maps_open(struct own_maps *m);
/* Fills in the next mapping; false: there are no more. */
bool own_maps_next(struct own_maps *m, struct own_map *out);
void own_maps_close(const struct own_maps *m);
