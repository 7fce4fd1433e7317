/* SPDX-License-Identifier: MIT */
/* The probes of a module as a source of patches: markers, system calls and signals' handlers.
 * Private to patches.c. A probe that has to be refused after all gets plan.kind HOOK_NONE, and
 * plan.reason says why. */
#pragma once
#include "image/patch_source.h"

extern const struct patch_source probe_patches;
