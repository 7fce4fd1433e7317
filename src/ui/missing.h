/* SPDX-License-Identifier: MIT */
/* Tells the user at once, before the program runs, that a function named with -l or -g is not
 * there or not all there, and that a module named with -L is not linked by the program. */
#pragma once
#include <sys/types.h>

#include "model/settings.h"

/* `image`: the ELF file of the program. 0, or EXIT_BRACE (said) if nothing else would be traced. */
int missing_functions(const struct settings *s, const char *image);
/* missing_functions for a process that runs, by the files that it has mapped. */
int missing_functions_of(const struct settings *s, pid_t pid);
