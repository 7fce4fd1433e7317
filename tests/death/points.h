/* The test points of an ELF file (src/shared/points.h). */
#pragma once
#include <stdint.h>

struct point { uint64_t address; const char *name; };

/* Their number; *out is malloc'ed, as are the names, for good. Ends the program with a sentence if
 * there are none. */
unsigned points_read(const char *path, struct point **out);
