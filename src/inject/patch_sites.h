/* SPDX-License-Identifier: MIT */
/* All sites that brace may have changed in the processes of an image: patches that were ever
 * planned for one of them. A forked child has the patches of whichever parent it had, at whichever
 * time; it is told to nobody, and its number may have been another process's. So nobody knows what
 * stands in a process; but whatever stands there stands at one of these sites, and
 * standing_patches.h reads which. */
#pragma once
#include "image/image.h"

#define PATCH_SITES_NONE UINT32_MAX

/* The sites of one or several images. In order of address, then of length. */
struct sites_of_images { struct patch_list list; uint32_t images; };
struct patch_sites { struct sites_of_images *at; size_t n, cap; };

/* A list for a new image; returns its number. */
uint32_t patch_sites_begin(struct patch_sites *p);
/* Another image has the same sites: its processes were another image's (PROTOCOL_USER). */
void patch_sites_share(struct patch_sites *p, uint32_t which);
/* No process has one of the images any more. The last one's end frees the list. */
void patch_sites_end(struct patch_sites *p, uint32_t which);
/* Adds the sites of patches before one of them is written; semaphores are no sites. */
void patch_sites_add(struct patch_sites *p, uint32_t which, const struct patch *patches,
		     size_t n);
/* Valid until *p changes. Empty for PATCH_SITES_NONE. */
const struct patch_list *patch_sites_of(const struct patch_sites *p, uint32_t which);
void patch_sites_free(struct patch_sites *p);
