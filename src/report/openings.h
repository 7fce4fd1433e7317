/* SPDX-License-Identifier: MIT */
/* Adds the beginnings of calls that are reported at their ends only (EVENT_SPAN, of a threshold):
 * an EVENT_OPEN at the time of each, so that the graph reads from above. This needs a whole trace:
 * a live stream shows ends only. */
#pragma once
#include "report/summary.h"

/* openings that are kept: a trace with more spans gets none. 32 bytes each. */
#define OPENINGS_MOST (4u << 20)

/* Returns a stream of `inner` and the openings, which are looked for through `in` (of the same
 * trace). The stream owns inner. A span has no opening where the CPU it began on is not known
 * (between two records of its thread on different CPUs), nor where sleep times are left out of
 * durations: some spans are missing then. NULL and *err: `in` cannot be read; inner is closed. */
struct source *openings_add(struct source *inner, const struct summary_input *in, struct err *err);
