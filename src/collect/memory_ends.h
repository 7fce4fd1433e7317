/* SPDX-License-Identifier: MIT */
/* Tells when the last process has given up a memory file: by its end, an exec, or an unmap. The
 * kernel tells it (inotify): the processes get a descriptor of their own of the file, which is
 * closed when nobody has it or a mapping made by it any more. A program can make the end seem early
 * by opening the file anew; then it loses names of its own call sites. */
#pragma once
#include <stdbool.h>

#include "base/vec.h"

struct memory_ends {
	int inotify;              /* -1: ends are not told */
	/* told, and not taken yet; memory_ends_take */
	VEC(int) told;
};

/* Where the kernel has no room for it, ends are not told. */
void memory_ends_begin(struct memory_ends *e);
void memory_ends_close(struct memory_ends *e);
/* Replaces *fd by a descriptor for the processes; the caller closes it when they have it, and makes
 * no mapping by it. Returns the watch (> 0); or 0: the end will not be told, and *fd is as before.
 * On any thread. */
int memory_ends_watch(const struct memory_ends *e, int *fd);
/* Takes a watch back whose end is of no interest; 0 is no watch. Before *fd is closed: afterwards
 * the end may be told all the same. On any thread. */
void memory_ends_forget(const struct memory_ends *e, int watch);
/* Hears what the kernel has told since. On one thread, as memory_ends_take. */
void memory_ends_hear(struct memory_ends *e);
/* Whether the end of this watch was told. True only once. */
bool memory_ends_take(struct memory_ends *e, int watch);
