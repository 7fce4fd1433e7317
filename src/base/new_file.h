/* SPDX-License-Identifier: MIT */
/* Files that a user asks for by name, in a directory that others may write to. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Opens a file for writing from its start. The caller's own regular file of that name is replaced
 * by a new one (mode 0600); a device or FIFO is written as it is; a symbolic link and another
 * user's file are refused. `what` ("trace file") names it in errors. *is_ours: the file was made
 * here and may be removed. Returns a descriptor to close, or -errno and *err. */
int new_file(const char *path, const char *what, bool *is_ours, struct err *err);
