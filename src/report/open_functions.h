/* SPDX-License-Identifier: MIT */
/* The recorded functions that each thread is in, while the events of a trace go by. Not locked. */
#pragma once
#include "trace/event.h"

struct open_functions;

/* info may grow; it must outlive the result, which open_functions_free() frees. */
struct open_functions *open_functions_new(const struct trace_info *info);
void open_functions_free(struct open_functions *o);
/* Takes the next event of any kind, in the order of time. */
void open_functions_event(struct open_functions *o, const struct event *e);
/* Writes the ids of at most `most` open functions of the thread, the innermost first; returns how
 * many. */
unsigned open_functions_copy(const struct open_functions *o, uint32_t thread, uint32_t *ids,
			     unsigned most);
