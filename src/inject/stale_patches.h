/* SPDX-License-Identifier: MIT */
/* Finds the patches that a dead tracer left in a process, by comparing its text with the files. */
#pragma once
#include "image/image.h"

/* Lists the jumps into regions of trampolines, with the files' bytes as expected. The caller frees
 * *out. 0, or -errno and *err. */
int stale_patches_find(pid_t pid, struct patch_list *out, struct err *err);
