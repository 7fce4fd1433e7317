/* SPDX-License-Identifier: MIT */
/* The function profiler: how often each function was called, on which CPU, and how long that took, counted from the
 * records as they come, whatever tracer there is and whatever the buffers keep.
 *
 * As in ftrace a call counts, and belongs to a CPU, when it begins, and its time when it ends; a recursion's time is
 * that of all its calls. Each thread is followed by itself, as `brace report` does. Nothing here is locked. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct profile;

/* Counts what is recorded from this moment (a TSC) on, of the functions and threads that the settings mean. info: grows,
 * and outlives it. */
struct profile *profile_new(const struct trace_info *info, const struct settings *s, uint64_t tsc);
void profile_free(struct profile *p); /* NULL is fine */
/* Other functions, or threads: from here on. */
void profile_configure(struct profile *p, const struct settings *s);
/* Nothing that is recorded after this moment counts. */
void profile_end(struct profile *p, uint64_t tsc);

/* The next chunk of its thread, which is resolved. */
void profile_feed(struct profile *p, const struct chunk *c);
/* The rows of a CPU's trace_stat; of the settings, options/graph-time and tracing_thresh. */
void profile_show(const struct profile *p, unsigned cpu, const struct settings *s, struct out *out);
