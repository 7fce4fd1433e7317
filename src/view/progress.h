/* SPDX-License-Identifier: MIT */
/* An input of summaries that counts what is read, and that another thread can stop. */
#pragma once
#include <stdatomic.h>

#include "report/summary.h"

struct progress {
	struct summary_input inner;
	/* Records of the trace, and of them those of this reading. Relaxed: numbers that another
	 * thread shows, and nothing is read by them. */
	_Atomic uint64_t all, done;
	/* Set by another thread: the reading fails with EINTR. That thread clears it, too, before
	 * the reading begins. */
	atomic_bool stop;
};

/* Begins to count anew. `inner` is copied; *p outlives the result. */
struct summary_input progress_input(struct progress *p, const struct summary_input *inner);
/* Hundredths of a percent. */
unsigned progress_share(const struct progress *p);
