/* SPDX-License-Identifier: MIT */
/* What a trace lacks, said to whoever reads its figures. A trace that lost nothing has nothing of this. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

struct losses {
	uint64_t lost, records; /* records: that are there */
	int full;               /* the file could not take all: errno; 0: it could */
};
struct losses losses_of(const struct trace_info *info);

/* "12 of 100 records (12.0 %) were lost: ...", and what helps; nothing if none was. No newline. */
void losses_sentence(const struct losses *l, struct out *out);
/* The sentence, and those threads that lost most, each line behind "# ". */
void losses_print(const struct trace_info *info, struct out *out);
/* ,"records":N,"lost":N,"lost_by":[{"pid":,"tid":,"comm":,"records":,"lost":},...]: the threads that lost something. */
void losses_print_json(const struct trace_info *info, struct out *out);
