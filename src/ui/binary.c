/* SPDX-License-Identifier: MIT */
/* Files named on the command line, for brace list and brace probe, on the main thread. Cannot
 * fail. */
#include "ui/binary.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "inject/launch.h"

char *binary_path(const char *word)
{
	char *path, *image;
	struct err ignored;
	struct stat st;

	if (strchr(word, '/') || file_look(word, &st) ||
	    launch_resolve(word, &path, &image, &ignored))
		return mem_strdup(word);
	free(path);
	return image;
}
