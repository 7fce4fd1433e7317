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
	/* the file's; 0, 0: there is none. stat tells other devices on btrfs and overlayfs */
	uint64_t device, inode;
	bool exec, write, shared;
	char *path;      /* "" for anonymous memory; "[heap]" and the like unchanged */
};
struct maps {
	VEC(struct map) at;
	/* maps_find_room keeps so far from mappings below which the kernel puts new ones */
	uint64_t distance;
};

/* Whether a loader mapped it from a file as code. A translator's code is anonymous, or shared with
 * the place where it is written. */
bool maps_is_text(const struct map *m);
/* Whether m->at.at[i] is a module's and stays as it is in its file: not writable, and not what
 * ld.so makes read-only when it has relocated it. */
bool maps_is_constant(const struct maps *m, size_t i);
/* Whether it is code of trampolines. */
bool maps_is_trampolines(const struct map *m);

/* Reads the mappings, in order of address. 0, or -errno and *err; the caller frees *out. */
int maps_read(pid_t pid, struct maps *out, struct err *err);
void maps_free(struct maps *m);

/* Marks a range as taken. */
void maps_take(struct maps *m, uint64_t start, uint64_t bytes);

/* Whether nothing is mapped there. */
bool maps_are_free(const struct maps *m, uint64_t from, uint64_t bytes);

/* A free stretch for something that may stand anywhere, away from where the kernel puts the
 * process' next mappings. 0 = no room. */
uint64_t maps_find_gap(const struct maps *m, uint64_t bytes);

/* Finds a free stretch of `bytes` (whole pages) from which 32-bit displacements reach all of [lo,
 * hi), for a module that lies there: below it if possible, never where the heap will grow. Marks it
 * as taken in *m. 0 = no room. */
uint64_t maps_find_room(struct maps *m, uint64_t lo, uint64_t hi, uint64_t bytes);
