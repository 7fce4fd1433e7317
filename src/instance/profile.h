/* SPDX-License-Identifier: MIT */
/* The function profiler: how often each function was called, on which CPU, and how long that took,
 * counted from the records as they arrive, whatever the tracer is and whatever the buffers keep.
 *
 * A call counts when it begins, for the CPU where it begins, and its time when it ends, as in
 * ftrace; a recursion's time is that of all its calls. Each thread is followed by itself, as `brace
 * report` does. Not locked: the caller has pump_lock. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct profile;

/* Counts what is recorded from the TSC on, of the functions and threads that the settings select.
 * info may grow, and outlives the profile. */
struct profile *profile_new(const struct trace_info *info, const struct settings *s, uint64_t tsc);
void profile_free(struct profile *p); /* NULL is fine */
/* Other functions or threads count from here on. */
void profile_configure(struct profile *p, const struct settings *s);
/* Records after the TSC do not count. */
void profile_end(struct profile *p, uint64_t tsc);

/* Takes the next chunk of its thread, which is resolved. The caller passes a thread's chunks in
 * their order. */
void profile_feed(struct profile *p, const struct chunk *c);
/* Prints the rows of a CPU's trace_stat. Of the settings, options/graph-time and tracing_thresh are
 * used. */
void profile_show(const struct profile *p, unsigned cpu, const struct settings *s, struct out *out);
