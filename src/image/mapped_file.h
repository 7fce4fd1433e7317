/* SPDX-License-Identifier: MIT */
/* The file behind a process' mapping: exactly that one, whatever stands at its path by now. */
#pragma once
#include "image/maps.h"

/* Bytes of a mapping's path before " (deleted)", which the kernel appends when no path leads to the
 * file any more. */
size_t mapped_file_path(const char *path);

/* The directory below which the process' paths are found: "" where they are brace's own. The caller
 * frees it. On any thread. */
char *mapped_file_root(pid_t pid);

/* Opens the file of a mapping that maps_read(pid) returned, below mapped_file_root(pid), for
 * reading. Returns a descriptor that the caller closes; or -errno and *err: -ESTALE if another file
 * stands at the path, and the mapped one is out of reach. On any thread. */
int mapped_file_open(pid_t pid, const char *root, const struct map *map, struct err *err);
/* Works like mapped_file_open, for the mapping at an address. -ESRCH: nothing is mapped there, or
 * the process is gone. */
int mapped_file_at(pid_t pid, uint64_t address, struct err *err);
