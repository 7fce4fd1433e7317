/* SPDX-License-Identifier: MIT */
/* function_graph's output, as ftrace prints it.
 *
 * A call is written `name();` when the next record of its CPU is its return, which means
 * looking ahead: an entry waits until a record of the same CPU or the same thread decides,
 * and what came after it on other CPUs waits behind it, up to GRAPH_WINDOW steps. Then, and
 * at graph_flush, it is written `name() {` and its end `}`.
 *
 * `}` gets a comment with the name when the last `name() {` that was written for this CPU at
 * this depth was another's (it moved to another CPU, or its beginning is not in the trace),
 * and with funcgraph-tail. What user space adds: `} / * name unwound * /` (without the inner
 * blanks) for a call that ended without returning, by longjmp or an exception; a coroutine's stack is
 * comm/coN-tid, and its calls have a depth of their own. Calls that are
 * open at the end of the trace have no `}`.
 *
 * A signal's handler stands between `==========> |` and `<========== |`, as ftrace draws the kernel's interrupts; with
 * nofuncgraph-irqs it is left out, with all it calls.
 *
 * Options that change it: funcgraph-cpu, -overhead, -duration, -proc, -abstime, -tail,
 * -overrun, -irqs, context-info, latency-format. */
#pragma once
#include "trace/tracks.h"
#include "report/format.h"

#define GRAPH_WINDOW 32768

struct graph;

/* options: bits of enum trace_option. info may grow; it and out must outlive the graph. */
struct graph *graph_new(const struct trace_info *info, uint64_t options, struct out *out);
void graph_free(struct graph *g);

/* The lines that begin with #. */
void graph_header(struct graph *g, const struct trace_header *h);
void graph_event(struct graph *g, const struct event *e);
/* Nothing more is coming for now: writes all that waits. Does not flush `out`. */
void graph_flush(struct graph *g);
/* Sums over all threads. */
struct calls_counts graph_counts(const struct graph *g);
