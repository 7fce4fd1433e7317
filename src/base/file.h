/* SPDX-License-Identifier: MIT */
/* Files that belong to anybody: opened without side effects, and told apart. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Opens a regular file to read it. Nothing else is opened, not even for a moment: to open a device may set it going, to open a
 * FIFO may wait for ever. A descriptor; or -errno and *err (ENOENT, EACCES, EISDIR, ENOEXEC: not a regular file). Close it. */
int file_open(const char *path, struct err *err);

/* Is it the same file, and was it left alone between the two looks? Who writes a file cannot set its ctime. */
bool file_is_same(const struct stat *a, const struct stat *b);
