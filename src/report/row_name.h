/* SPDX-License-Identifier: MIT */
/* The name at the end of a table's line. */
#pragma once
#include <stdbool.h>

#include "base/out.h"

/* Columns that tables leave for a name and its file, if they can. */
#define ROW_NAME_ROOM 36u

/* Ends the line: writes the name, with its file in brackets unless file is NULL. The line has
 * `used` columns already; on a terminal the name's middle is left out where it would go beyond its
 * edge ("std::ma..push_back [server]"), and the file where not even a short name has room. foreign:
 * the program chose the name. */
void row_name_print(struct out *out, unsigned used, const char *name, const char *file,
		    bool foreign);
