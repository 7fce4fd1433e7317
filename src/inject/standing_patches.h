/* SPDX-License-Identifier: MIT */
/* The patches that stand in a stopped process, read from its own bytes. */
#pragma once
#include "image/maps.h"
#include "inject/patch_sites.h"
#include "tracee/tracee.h"

/* Fills *out, which the caller frees: of the process's sites those that lead into trampolines that
 * it maps, or hold what brace last wrote there, all as PATCH_APPLIED. `told`: what brace noted of
 * the process. Its semaphores come along, since their bytes tell nothing; all of it does if no
 * site is known. Returns how many of its patches somebody else has changed. */
uint32_t standing_patches_find(struct tracee *t, const struct maps *maps,
			       const struct patch_list *sites, const struct patch_list *told,
			       struct patch_list *out);
