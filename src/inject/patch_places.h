/* SPDX-License-Identifier: MIT */
/* All places that brace may have changed in the processes of an image: patches that were ever
 * planned for one of them. A forked child has the patches of whichever parent it had, at whichever
 * time; it is told to nobody, and its number may have been another process's. So nobody knows what
 * stands in a process; but whatever stands there stands at one of these places, and
 * standing_patches.h reads which. */
#pragma once
#include "image/image.h"

#define PATCH_PLACES_NONE UINT32_MAX

/* The places of one or several images. In order of address, then of length. */
struct places_of_images { struct patch_list list; uint32_t images; };
struct patch_places { struct places_of_images *at; size_t n, cap; };

/* A list for a new image; returns its number. */
uint32_t patch_places_begin(struct patch_places *p);
/* Another image has the same places: its processes were another image's (PROTOCOL_USER). */
void patch_places_share(struct patch_places *p, uint32_t which);
/* No process has one of the images any more. The last one's end frees the list. */
void patch_places_end(struct patch_places *p, uint32_t which);
/* Adds the places of patches before one of them is written; semaphores are no places. */
void patch_places_add(struct patch_places *p, uint32_t which, const struct patch *patches,
		      size_t n);
/* Valid until *p changes. Empty for PATCH_PLACES_NONE. */
const struct patch_list *patch_places_of(const struct patch_places *p, uint32_t which);
void patch_places_free(struct patch_places *p);
