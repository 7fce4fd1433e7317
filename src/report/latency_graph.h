/* SPDX-License-Identifier: MIT */
/* A latency tracer's trace with the option display-graph: calls as function_graph prints them, with
 * the time since the wake, a mark for each other task, and fixed columns (the kernel's
 * GRAPH_TRACER_FLAGS). The wake, the switch and events are comments. Stacks have the lines of the
 * latency format, because the kernel's graph hands them on (TRACE_TYPE_UNHANDLED). */
#pragma once
#include "report/format.h"
#include "trace/event.h"

struct latency_graph;

/* info may grow; it and out must outlive the printer. latency_graph_free frees. */
struct latency_graph *latency_graph_new(const struct trace_info *info, uint64_t options,
					struct out *out);
void latency_graph_free(struct latency_graph *l);

/* Whether such a trace is printed so. */
bool latency_graph_is_wanted(const struct trace_info *info, uint64_t options);

/* Prints the lines that begin with #. */
void latency_graph_header(struct latency_graph *l, const struct trace_header *h);
void latency_graph_event(struct latency_graph *l, const struct event *e);
/* Writes what waits for a later record. Does not flush `out`. */
void latency_graph_flush(struct latency_graph *l);
