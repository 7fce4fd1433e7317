/* SPDX-License-Identifier: MIT */
/* function_graph's output of the kernel's functions, as the kernel prints it for the same buffer.
 *
 * It differs from a program's (graph.h) because the kernel's does: an entry's line ends in `();` if
 * the next record of its CPU is its return, depths and durations are those of the records, and a
 * return without its entry is printed. Options: funcgraph-cpu, -overhead, -duration, -proc,
 * -abstime, -tail, -irqs, context-info. */
#pragma once
#include "report/format.h"
#include "trace/event.h"

/* Entries wait for the next record of their CPU so many records at most. */
#define KERNEL_GRAPH_LOOKAHEAD 32768

/* The functions that interrupts enter. All 0 at the beginning. */
struct kernel_interrupts { size_t modules; uint64_t from, to; };
/* Whether this function of the kernel's is one. info may have grown; it has the kernel. */
bool kernel_interrupts_enter(struct kernel_interrupts *i, const struct trace_info *info,
			     uint32_t fn);

struct kernel_graph;

/* options: bits of enum trace_option. info may grow; it and out must outlive the graph.
 * kernel_graph_free() frees it; what waits is not printed then. */
struct kernel_graph *kernel_graph_new(const struct trace_info *info, uint64_t options,
				      struct out *out);
void kernel_graph_free(struct kernel_graph *g);
/* Prints the lines above the columns. */
void kernel_graph_header(struct kernel_graph *g, const struct trace_header *h);
/* Events come by time. Those that are no records of the kernel's are left out. */
void kernel_graph_event(struct kernel_graph *g, const struct event *e);
/* Prints what waits for a next record: no more come for now. */
void kernel_graph_flush(struct kernel_graph *g);
