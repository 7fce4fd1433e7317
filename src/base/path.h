/* SPDX-License-Identifier: MIT */
/* Parts of a path's text; no file is looked at. Any thread. */
#pragma once
#include <string.h>

/* The part behind the last slash, within the path; a path without one is a name already. */
static inline const char *path_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
