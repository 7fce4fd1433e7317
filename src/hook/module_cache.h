/* SPDX-License-Identifier: MIT */
/* Modules that have been loaded, kept for a later load of the same file: when a session executes a
 * program a hundred times, each plan begins with the same files. The key is made from the file each
 * time, so a file that has changed is read anew. */
#pragma once
#include "hook/cache.h"

/* hook_module_load_fd(), from memory if possible: 0, or -errno and *err. module_cache_free() frees
 * it. Any thread. */
int module_cache_load(int fd, const char *path, const char *root, struct hook_module **out,
		      struct err *err);
/* Gives the module back. Its entries may have been changed: the next user gets them as planned. */
void module_cache_free(struct hook_module *m);
/* Loads the module of a file that will be asked for soon, by this path, if it is in the cache. It
 * takes milliseconds; a module_cache_load() of it waits meanwhile. Any thread. */
void module_cache_ahead(const char *path);
