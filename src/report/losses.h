/* SPDX-License-Identifier: MIT */
/* Tells readers of a trace's figures what is missing. A trace that lost nothing prints nothing
 * here. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

struct losses {
	uint64_t lost, records; /* records: those that are there */
	int full;               /* errno that the file could not take everything for; 0: it could */
	uint64_t of_kernel;     /* those of `lost` that are the kernel's, which waits for nobody */
	bool kernel;            /* the trace is the kernel's alone */
};
/* Sums up the trace's threads and messages. */
struct losses losses_of(const struct trace_info *info);

/* Prints "12 of 100 records (12.0 %) were lost: ..." and what helps; nothing if none was lost. No
 * newline. */
void losses_sentence(const struct losses *l, struct out *out);
/* Prints the sentence and the threads that lost most, each line behind "# ". */
void losses_print(const struct trace_info *info, struct out *out);
/* Prints ,"records":N,"lost":N,"lost_by":[{"pid":,"tid":,"comm":,"records":,"lost":},...] with the
 * threads that lost something. */
void losses_print_json(const struct trace_info *info, struct out *out);
