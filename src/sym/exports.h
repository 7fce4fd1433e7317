/* SPDX-License-Identifier: MIT */
/* Functions that a file defines for other modules. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Sets found[i] for each of n names, sorted by strcmp(), that the file open at fd defines as a
 * dynamic symbol; a file that cannot be read defines none. path is for sentences. Any thread. */
void sym_exports_find(int fd, const char *path, const char *const *names, size_t n, bool *found);
