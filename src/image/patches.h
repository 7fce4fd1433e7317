/* SPDX-License-Identifier: MIT */
/* The code and the patches for one address space: trampolines in the code memory, near each module,
 * and the list of bytes for the agent to write. */
#pragma once
#include "image/modules.h"

/* Finds what the set wants inside of the module, which is open. */
void patches_choose(struct module *mod, const struct event_set *set, const handler_list *handlers);
/* Adds the events whose records may come, for readers. set: NULL: none. */
void patches_describe(const struct modules *m, const struct event_set *set,
		      struct image_update *update);
/* Makes both, into *out. A function that finds no room is refused with its reason. 0, or -errno and
 * *err: the code memory cannot be made. */
int patches_make(const struct image_request *req, struct modules *modules, struct maps *maps,
		 struct image *out, struct err *err);
