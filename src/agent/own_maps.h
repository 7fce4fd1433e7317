/* SPDX-License-Identifier: MIT */
/* /proc/self/maps, without libc. The reader is as large as its buffer: where stacks are small it stands elsewhere. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct own_maps { long fd; char bytes[1024]; long at, n; bool failed; /* to read it to its end */ };

struct own_map {
	uint64_t start, end;
	bool text; /* executable, private and of a file: as loaders map code */
	bool exec;
};

/* A descriptor of the process is taken until own_maps_close. */
bool own_maps_open(struct own_maps *m);
bool own_maps_next(struct own_maps *m, struct own_map *out); /* false: that was all */
void own_maps_close(const struct own_maps *m);
