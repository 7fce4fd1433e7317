/* SPDX-License-Identifier: MIT */
/* Events of include/brace/event.h, from wanted ones to changed bytes: which of a process' modules
 * bring events along, which of these the set arms, and what goes into the modules' regions and the
 * programs. */
#pragma once
#include "image/patch_source.h"

extern const struct event_provider event_sites_provider;
extern const struct patch_source event_site_patches;

/* Reads the module's events, once, and corrects its address by them if nothing else tells it.
 * False: it has none. */
bool event_sites_load(struct module *mod);
