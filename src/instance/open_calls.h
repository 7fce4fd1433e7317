/* SPDX-License-Identifier: MIT */
/* The call stacks of threads as their records describe them. `stacktrace` uses them where no copy
 * of the stack was taken. Not locked: it belongs to the triggers, which run under pump_lock. */
#pragma once
#include "trace/tracks.h"

/* The function tracer's last record of a thread. */
struct last_call { bool known; uint32_t fn, site; };

/* The latest thread of trace_info with the same tid and pid, or the thread itself. `seen` threads
 * have been compared. */
struct predecessor { uint32_t thread, seen; };

struct open_calls {
	const struct trace_info *info;
	struct sites sites;
	struct tracks tracks;
	/* of the function tracer, whose records have no return; by thread */
	VEC(struct last_call) last;
	VEC(struct predecessor) predecessors;     /* by thread */
};

/* info must outlive *o, and may grow. open_calls_free frees. */
void open_calls_init(struct open_calls *o, const struct trace_info *info);
void open_calls_free(struct open_calls *o);
/* Takes a record. The caller passes a thread's records in their order. */
void open_calls_feed(struct open_calls *o, const struct event *e);
/* The address of a function in its process; 0: unknown. */
uint64_t open_calls_function(const struct trace_info *info, uint32_t image, uint32_t fn);
/* Writes the addresses of the functions that e's thread is in at e, innermost first, at most `max`,
 * and returns their number. e was fed before. With the function tracer: the function called last
 * and its call site. Unknown functions are left out. */
size_t open_calls_addresses(struct open_calls *o, const struct event *e, uint64_t *to, size_t max);
