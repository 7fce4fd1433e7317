/* SPDX-License-Identifier: MIT */
/* Where calls began that are told at their ends alone (EVENT_SPAN, of a threshold): an EVENT_OPEN at its time, so that the graph reads
 * from above. Only who has all of a trace can know them: a live stream shows ends. */
#pragma once
#include "report/summary.h"

/* No more are kept than these: of a trace with more spans none is opened. 32 bytes each. */
#define OPENINGS_MOST (4u << 20)

/* A stream of `inner` and the openings, which it looks for through `in` (of the same trace). It owns inner. A span has none where the
 * CPU it began on is not known: between two records of its thread on different CPUs; or where what threads slept is
 * not in durations: some spans are left out then. NULL and *err: `in` cannot be read; inner is closed. */
struct source *openings_add(struct source *inner, const struct summary_input *in, struct err *err);
