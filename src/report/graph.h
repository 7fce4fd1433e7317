/* SPDX-License-Identifier: MIT */
/* function_graph's output as ftrace prints it.
 *
 * A call is written `name();` if the next record of its CPU is its return, which means looking
 * ahead: an entry waits until a record of the same CPU or the same thread decides, and records of
 * other CPUs wait behind it, up to GRAPH_LOOKAHEAD steps. After that, and at graph_flush, it is
 * written `name() {` and its end `}`.
 *
 * `}` gets a comment with the name if the last `name() {` written for this CPU at this depth was
 * another function's (the thread moved to another CPU, or the beginning is not in the trace), and
 * with funcgraph-tail. User space adds `} / * name unwound * /` (without the inner blanks) for a
 * call that ended without returning, by longjmp or an exception. A coroutine's stack is shown as
 * comm/coN-tid, and its calls have a depth of their own. Calls that are open at the end of the
 * trace have no `}`.
 *
 * A signal's handler stands between `==========> |` and `<========== |`, as ftrace draws the
 * kernel's interrupts; with nofuncgraph-irqs it is left out, with all calls it makes.
 *
 * Options that change it: funcgraph-cpu, -overhead, -duration, -proc, -abstime, -tail,
 * -overrun, -irqs, -retval, -retaddr, context-info, latency-format. */
#pragma once
#include "trace/tracks.h"
#include "report/format.h"

#define GRAPH_LOOKAHEAD 32768

struct graph;
struct callers;

/* options: bits of enum trace_option. info may grow; it and out must outlive the graph. graph_free
 * frees. */
struct graph *graph_new(const struct trace_info *info, uint64_t options, struct out *out);
void graph_free(struct graph *g);

/* Lines have the time since graph_start(), as those of the latency tracer of this name, which
 * outlives the graph. Before the header. */
void graph_set_latency(struct graph *g, const char *tracer);
/* tsc: the time from which lines count. */
void graph_start(struct graph *g, uint64_t tsc);
/* Prints the lines that begin with #. */
void graph_header(struct graph *g, const struct trace_header *h);
/* For funcgraph-retaddr: `callers` come from the stream that follows, from its beginning, and stay
 * the caller's. Without them, only calls that end within the lookahead have the address. */
void graph_set_callers(struct graph *g, const struct callers *callers);
/* Prints where a call stands, behind a blank, for the comment that funcgraph-retaddr has; `out`
 * NULL: prints nothing. Returns false if that is not known. */
typedef bool graph_print_place(void *arg, struct out *out, uint32_t image,
			       const struct call_step *s);
/* Has it print the places instead of the addresses. arg stays the caller's. */
void graph_set_places(struct graph *g, graph_print_place *print, void *arg);
void graph_event(struct graph *g, const struct event *e);
/* Writes everything that waits: no more events come for now. Does not flush `out`. */
void graph_flush(struct graph *g);
/* (tests) Counts of calls, summed over all threads. */
struct calls_counts graph_counts(const struct graph *g);
