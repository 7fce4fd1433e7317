/* SPDX-License-Identifier: MIT */
/* The calls that are open on a thread's stack, as far as records say: what a `stacktrace` can know. */
#pragma once
#include "trace/tracks.h"

struct last_call { bool known; uint32_t fn, site; };

/* The latest other thread of trace_info that is the same one, or itself; so many threads were looked at. */
struct twin { uint32_t thread, seen; };

struct open_calls {
	const struct trace_info *info;
	struct sites sites;
	struct tracks tracks;
	VEC(struct last_call) last; /* of records that have no end, by thread: the function tracer's */
	VEC(struct twin) twins;     /* by thread */
};

void open_calls_init(struct open_calls *o, const struct trace_info *info);
void open_calls_free(struct open_calls *o);
/* All records in their order. */
void open_calls_feed(struct open_calls *o, const struct event *e);
/* The address of a function; 0: nothing defines it. */
uint64_t open_calls_function(const struct trace_info *info, uint32_t image, uint32_t fn);
/* Where the thread is at this event, which was fed, innermost first: the functions' addresses. Without a graph the
 * function called last and where it was called from; what is not known is left out. */
size_t open_calls_addresses(struct open_calls *o, const struct event *e, uint64_t *to, size_t max);
