/* SPDX-License-Identifier: MIT */
/* The code and the patches for one address space: trampolines in the code memory, near each
 * module, and the list of bytes the agent writes. */
#pragma once
#include "image/modules.h"

int patches_make(const struct image_request *req, struct modules *modules, struct maps *maps, struct image *out,
		 struct err *err);
