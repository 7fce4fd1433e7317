/* SPDX-License-Identifier: MIT */
/* The columns of function_graph's lines, byte for byte the kernel's: header, time, CPU, task,
 * duration, indentation. The printers of programs' calls (graph.h) and of the kernel's
 * (kernel_graph.h) share them. Nothing fails; `out` keeps write errors for its owner. */
#pragma once
#include "model/option.h"
#include "report/format.h"

#define GRAPH_MATCH_DEPTH 50 /* ftrace's FTRACE_RETFUNC_DEPTH */

/* info may grow; info and out must outlive the columns, which need not be freed. */
struct graph_columns {
	const struct trace_info *info;
	struct out *out;
	uint64_t options;       /* bits of enum trace_option */
	unsigned cpu_width;
	/* A latency tracer's (report/latency_graph.h): its name, and the time from which its lines
	 * count, in ns of the shown clock. NULL: lines have no such time. */
	const char *latency_tracer;
	uint64_t start_ns;
};

/* Where a line's record was made. track: 0, or the number of the coroutine's stack. */
struct graph_context { uint64_t tsc; uint32_t thread, track; uint16_t cpu; };

/* info and out outlive *c, which has nothing to be freed. */
void graph_columns_init(struct graph_columns *c, const struct trace_info *info, uint64_t options,
			struct out *out);
static inline bool graph_columns_on(const struct graph_columns *c, enum trace_option o)
{
	return option_is_set(c->options, o);
}
/* The lines that begin with #. */
void graph_columns_header(const struct graph_columns *c, const struct trace_header *h);
/* The mark between lines of two tasks on one CPU: `from` was printed last, `to` comes now. */
void graph_columns_switch(const struct graph_columns *c, const struct graph_context *from,
			  const struct graph_context *to);
/* Everything to the left of the duration. */
void graph_columns_context(const struct graph_columns *c, const struct graph_context *at);
/* Whether lines have a duration: the column goes away with the context, too, as in the kernel. */
bool graph_columns_has_duration(const struct graph_columns *c);
/* The column of a line that has a duration, with the kernel's mark for a long one. */
void graph_columns_duration(const struct graph_columns *c, uint64_t ns);
/* Fills the column of a line that has none. */
void graph_columns_no_duration(const struct graph_columns *c);
void graph_columns_indent(const struct graph_columns *c, uint32_t depth);

#define GRAPH_ARROW_IN "==========>"
#define GRAPH_ARROW_OUT "<=========="
/* A line with one of the arrows, by which the kernel's graph marks interrupts. */
void graph_columns_arrow(const struct graph_columns *c, const char *arrow);
