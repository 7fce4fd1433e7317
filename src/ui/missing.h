/* SPDX-License-Identifier: MIT */
/* Tells the user, before the program runs, that a function named with -l or -g is missing or cannot
 * be hooked completely, and that the program does not link a module named with -L. */
#pragma once
#include <sys/types.h>

#include "model/settings.h"

/* `image`: the program's ELF file. 0, or EXIT_BRACE (said) if nothing else would be traced. */
int missing_functions(const struct settings *s, const char *image);
/* Works like missing_functions for a running process, by the files that it has mapped. */
int missing_functions_of(const struct settings *s, pid_t pid);
