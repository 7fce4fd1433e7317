/* SPDX-License-Identifier: MIT */
/* Parts of a path's text; no file is looked at. Any thread. */
#pragma once
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* The part behind the last slash, within the path; a path without one is a name already. */
static inline const char *path_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The path for a process whose working directory is another; as it is if ours is not known. free()
 * it. */
static inline char *path_absolute(const char *path)
{
	char here[PATH_MAX];

	return *path == '/' || !getcwd(here, sizeof(here)) ? mem_strdup(path)
							   : mem_printf("%s/%s", here, path);
}
