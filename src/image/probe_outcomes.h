/* SPDX-License-Identifier: MIT */
/* Places of markers and of defined events that are not probed, for the user: a place may be free
 * when the event is defined, and another hook's when it is enabled. */
#pragma once
#include "collect/messages.h"
#include "image/modules.h"

/* After patches_make: notes in im->probes what becomes of each place. */
void probe_outcomes_plan(const struct image_request *req, const struct modules *m,
			 struct image *im);
/* After patching: notes events of which a place is not probed. */
void probe_outcomes_tell(const struct image *im, pid_t pid, struct memory_messages *messages);
