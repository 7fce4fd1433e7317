/* SPDX-License-Identifier: MIT */
/* /proc/PID/maps: which files a process has mapped where, and where there is room. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct map {
	uint64_t start, end, offset;
	uint64_t device, inode; /* of the file; 0, 0: there is none. btrfs and overlayfs have other devices for stat */
	bool exec, write, shared;
	char *path;      /* "" for anonymous memory; "[heap]" and the like as they are */
};
struct maps {
	VEC(struct map) at;
	uint64_t distance; /* maps_find_room keeps so far from mappings below which the kernel puts new ones */
};

/* Is it code that a loader mapped from a file? A translator's is anonymous, or shared with where it is written. */
bool maps_is_text(const struct map *m);

int maps_read(pid_t pid, struct maps *out, struct err *err);
void maps_free(struct maps *m);

/* A free stretch of `bytes` (whole pages) that reaches all of [lo, hi) with 32-bit displacements,
 * for a module that lies there: below it if possible, never where the heap will grow. It is marked
 * as taken in *m. 0 = no room. */
/* Marks a range as taken. */
void maps_take(struct maps *m, uint64_t start, uint64_t bytes);

/* Is nothing mapped there? */
bool maps_are_free(const struct maps *m, uint64_t from, uint64_t bytes);

/* A free stretch for something that may stand anywhere, apart from where the kernel puts what the
 * process maps next. 0 = no room. */
uint64_t maps_find_gap(const struct maps *m, uint64_t bytes);

uint64_t maps_find_room(struct maps *m, uint64_t lo, uint64_t hi, uint64_t bytes);
