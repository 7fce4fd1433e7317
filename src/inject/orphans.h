/* SPDX-License-Identifier: MIT */
/* Patches that a tracer which is no more left in a process: found by comparing its text with the files. */
#pragma once
#include "image/image.h"

/* Lists what leads into a region of trampolines, with the file's bytes as expected. 0 or -errno and *err. */
int orphans_find(pid_t pid, struct patch_list *out, struct err *err);
