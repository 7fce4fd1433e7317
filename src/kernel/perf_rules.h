/* SPDX-License-Identifier: MIT */
/* The rules of the kernel for an ordinary user of perf's tracepoints, and the sentences that name
 * the one in the way. No state; any thread. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* kernel.perf_event_paranoid, from -1 (all is allowed) on; -2: it cannot be read. */
int kernel_perf_paranoia(void);
/* kernel.perf_event_mlock_kb: KiB that a user may lock for the rings of each CPU. */
int kernel_perf_lockable(void);
/* perf_event_open() of the event has failed with `code`, an errno; all: it was for all tasks. Sets
 * *err and returns -code. */
int kernel_perf_refused(const char *system, const char *name, bool all, int code, struct err *err);
/* The numbers of the system's events, in tracefs at `top`, are not to be read. Sets *err and
 * returns -EACCES. */
int kernel_perf_no_numbers(const char *top, const char *system, struct err *err);
