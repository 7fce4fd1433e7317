/* SPDX-License-Identifier: MIT */
/* The file behind a process's mapping: that very one, whatever stands at its path by now, or as brace sees paths. */
#pragma once
#include "image/maps.h"

/* Bytes of a mapping's path before " (deleted)", which the kernel appends where no path leads to the file any more. */
size_t mapped_file_path(const char *path);

/* The directory below which the process's paths are found: "" where they are brace's own. free() it. Any thread. */
char *mapped_file_root(pid_t pid);

/* Opens the file of a mapping that maps_read(pid) told of, below mapped_file_root(pid), to read it. A descriptor, which the
 * caller closes; or -errno and *err: -ESTALE if what stands at the path is another file, and the mapped one is out of reach.
 * Any thread. */
int mapped_file_open(pid_t pid, const char *root, const struct map *map, struct err *err);
/* The file of whatever the process has mapped at the address. As mapped_file_open; -ESRCH: nothing is mapped there, or the
 * process is gone. */
int mapped_file_at(pid_t pid, uint64_t address, struct err *err);
