/* SPDX-License-Identifier: MIT */
/* The functions of a module, as a source of patches. Private to patches.c. */
#pragma once
#include "image/patch_source.h"

extern const struct patch_source function_patches;

/* After all sources have written: redirects direct calls, and writes the list of layouts behind
 * everything else in the region. Frees what the job has of both. */
void function_patches_finish(struct patch_job *j, struct patch_region *r);
