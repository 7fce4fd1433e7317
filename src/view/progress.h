/* SPDX-License-Identifier: MIT */
/* An input of summaries that counts what is read, and that another thread can stop. */
#pragma once
#include <stdatomic.h>

#include "report/summary.h"

struct progress {
	struct summary_input inner;
	uint64_t all;                /* records of the trace */
	/* Counts this reading. Relaxed: a number that is shown, and nothing is read by it. */
	_Atomic uint64_t done;
	atomic_bool stop;            /* set by another thread: the reading fails with EINTR */
};

/* Begins to count anew. `inner` is copied; *p outlives the result. */
struct summary_input progress_input(struct progress *p, const struct summary_input *inner);
/* Hundredths of a percent. */
unsigned progress_share(const struct progress *p);
