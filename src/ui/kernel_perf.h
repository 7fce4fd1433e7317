/* SPDX-License-Identifier: MIT */
/* The kernel's events for a user who is not root: by perf, where the kernel's rules allow it. */
#pragma once
#include "kernel/source.h"
#include "ui/invocation.h"

/* kernel_source_open() has failed with e, -errno, and *err. If the user is not root and asks for
 * events alone, opens perf's tracepoints in place of it, by the command line's settings, and
 * carries out those for printing. switches: sched:sched_switch is wanted, too, if it can be had. 0,
 * or -errno and *err: for anything else, as before. */
int kernel_perf_open(struct invocation *inv, bool switches, int e, struct kernel_source **out,
		     struct err *err);
