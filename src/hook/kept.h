/* SPDX-License-Identifier: MIT */
/* Modules that have been loaded, kept for who loads the same file again: of a session that executes a program a hundred
 * times each plan begins with the same files. A key is made of the file each time, so one that has changed is read anew. */
#pragma once
#include "hook/cache.h"

/* As hook_module_load_fd; hook_kept_free frees. Any thread. */
int hook_kept_load(int fd, const char *path, const char *root, struct hook_module **out, struct err *err);
/* Its entries may have been changed: who gets it next has them as planned. */
void hook_kept_free(struct hook_module *m);
