/* SPDX-License-Identifier: MIT */
/* Files that belong to anybody: opened without side effects, waited for with a bound, and told
 * apart. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Opens a regular file for reading. Nothing else is opened, not even for a moment: to open a device
 * may start it, to open a FIFO may wait for ever. Returns a descriptor to close; or -errno and *err
 * (ENOENT, EACCES, EISDIR, ENOEXEC: not a regular file). Of a file system that a process
 * serves (base/mounts.h) the descriptor is that of a copy in memory: neither this nor what is done
 * to the descriptor waits for that process longer than ASIDE_MS; then -ETIMEDOUT, and at once for
 * whatever else is mounted there. Any thread. */
int file_open(const char *path, struct err *err);
bool file_is_copy(int fd);
/* Whether maps show these numbers for a mapping of the file that the copy was made of. Those of
 * stat may be others (btrfs, overlayfs). */
bool file_copy_maps_as(int fd, dev_t device, ino_t inode);
/* fstat(); of a copy, what the file was when it was made. */
int file_stat(int fd, struct stat *out);

/* Like stat() with errno, and realpath(): they wait no longer than file_open. Of what a process
 * serves, stat's answer may be one that the kernel kept. */
bool file_look(const char *path, struct stat *out);
/* Nothing stands there, and the kernel knows that without asking anybody. */
bool file_is_missing(const char *path);
bool file_real_path(const char *path, char out[PATH_MAX]);
bool file_is_served(const char *path); /* by a process; also if that is not known */

/* True if both describe the same file and nobody wrote to it between the two stat()s. A writer can
 * set mtime back, but not ctime. */
bool file_is_same(const struct stat *a, const struct stat *b);
