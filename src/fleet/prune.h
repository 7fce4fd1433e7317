/* SPDX-License-Identifier: MIT */
/* Runs that go from the servers of a fleet: their sums, calls, files and, last, their own rows. */
#pragma once
#include "fleet/questions.h"

struct fleet_prune {
	const struct fleet_servers *servers;
	const struct fleet_spec *runs;  /* which */
	const struct stop *stop;
	uint64_t gone;                  /* result: runs */
};

/* Deletes, and waits until servers have done it. 0, or -errno and *err; -EINTR: stop was asked.
 * A call that failed may be made again and deletes the rest: a run's row in `runs` goes last. */
int fleet_prune(struct fleet_prune *p, struct fleet_answer *a, struct err *err);
