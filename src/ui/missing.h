/* Tells the user at once, before the program runs, that a function named with -l or -g is not
 * there or not all there, and that a module named with -L is not linked by the program. */
#pragma once
#include "model/settings.h"

/* `image`: the ELF file of the program. 0, or EXIT_BRACE (said) if nothing else would be traced. */
int missing_functions(const struct settings *s, const char *image);
