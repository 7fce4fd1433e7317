/* SPDX-License-Identifier: MIT */
/* Files that a user asks for by name, in a directory that others may write to. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Opens a file to write it from its beginning. A regular file of the caller's under that name is replaced by a new one (mode 0600);
 * anything but a regular file is written as it is; a symbolic link and another user's file are refused. `what` ("trace file")
 * stands in the sentences. *is_ours: it was made here, and may be removed. A descriptor to close, or -errno and *err. */
int new_file(const char *path, const char *what, bool *is_ours, struct err *err);
