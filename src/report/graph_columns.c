/* SPDX-License-Identifier: MIT */
/* The columns of function_graph's lines. Called by graph.c and kernel_graph.c for each line, on
 * their threads: integers are formatted without printf. */
#include "report/graph_columns.h"

#define GRAPH_INDENT 2
#define GRAPH_INDENT_MAX 500 /* levels: a runaway recursion must not print lines of a megabyte */

void graph_columns_init(struct graph_columns *c, const struct trace_info *info, uint64_t options,
			struct out *out)
{
	*c = (struct graph_columns){ .info = info,
				     .out = out,
				     .options = options,
				     .cpu_width = out_width(info->cpus ? info->cpus - 1 : 0) };
}

/* --- header ---------------------------------------------------------------------------- */

/* The widths are the kernel's (kernel/trace/trace_functions_graph.c, __print_graph_headers_flags):
 * the titles stand above the columns that print_cpu() and its like write. */
struct column { enum trace_option option; const char *title, *pointers; };

/* Width of the columns before the legend of the latency flags. */
static size_t legend_indent(const struct graph_columns *c)
{
	return (graph_columns_on(c, OPTION_GRAPH_ABSTIME) ? 16 : 0) +
	       (c->latency_tracer ? 16 : 0) +
	       (graph_columns_on(c, OPTION_GRAPH_CPU) ? 4 : 0) +
	       (graph_columns_on(c, OPTION_GRAPH_PROC) ? 17 : 0);
}

/* The kernel's legend of its flags column, byte for byte. */
static void latency_legend(const struct graph_columns *c)
{
	static const char *const lines[] = {
		"  _-----=> irqs-off        \n", " / _----=> need-resched    \n",
		"| / _---=> hardirq/softirq \n", "|| / _--=> preempt-depth   \n",
		"||| /                      \n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		out_char(c->out, '#');
		out_spaces(c->out, legend_indent(c));
		out_str(c->out, lines[i]);
	}
}

/* A header line: titles, or the pointers below them, of the columns that are on. */
static void columns_line(const struct graph_columns *c, bool titles)
{
	static const struct column columns[] = {
		{ OPTION_GRAPH_ABSTIME, "     TIME       ", "      |         " },
		{ OPTION_GRAPH_CPU, " CPU", " |  " },
		{ OPTION_GRAPH_PROC, "  TASK/PID       ", "   |    |        " },
		{ OPTION_LATENCY_FORMAT, "||||   ", "||||   " },
		{ OPTION_GRAPH_DURATION, "  DURATION   ", "   |   |      " },
	};

	out_char(c->out, '#');
	if (c->latency_tracer)
		out_str(c->out, titles ? "   REL TIME     " : "      |         ");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (graph_columns_on(c, columns[i].option))
			out_str(c->out, titles ? columns[i].title : columns[i].pointers);
	out_str(c->out,
		titles ? "               FUNCTION CALLS\n" : "               |   |   |   |\n");
}

void graph_columns_header(const struct graph_columns *c, const struct trace_header *h)
{
	const char *tracer = c->latency_tracer ? c->latency_tracer : "function_graph";

	format_tracer_line(c->out, tracer);
	if (!graph_columns_on(c, OPTION_CONTEXT_INFO) ||
	    (h->empty && graph_columns_on(c, OPTION_LATENCY_FORMAT)))
		return;
	if (graph_columns_on(c, OPTION_LATENCY_FORMAT)) {
		format_latency_header(c->out, tracer, c->info, h);
		latency_legend(c);
	}
	columns_line(c, true);
	columns_line(c, false);
}

/* --- one line -------------------------------------------------------------------------- */

/* " 0) ", as wide as the greatest number of a CPU. */
static void print_cpu(const struct graph_columns *c, uint16_t cpu)
{
	out_char(c->out, ' ');
	out_u64(c->out, cpu, c->cpu_width, ' ');
	out_bytes(c->out, ") ", 2);
}

/* Prints comm-tid in the middle of 14 columns; on a coroutine's stack comm/coN-tid. tsc: the time
 * for which the name is asked. The name may change while the thread runs (PR_SET_NAME): a line has
 * the one of its time. It is cut to FORMAT_PROC_COMM characters, as the kernel cuts it. */
static void print_proc(const struct graph_columns *c, uint32_t thread, uint32_t track, uint64_t tsc)
{
	const struct trace_thread *t = &c->info->threads.at[thread];
	const char *name = trace_thread_name_at(t, tsc);
	size_t comm = strnlen(name, FORMAT_PROC_COMM), n = comm + 1 + out_width(t->tid), spaces;

	n += track ? 3 + out_width(track) : 0;
	spaces = n < FORMAT_PROC_WIDTH ? FORMAT_PROC_WIDTH - n : 0;
	out_spaces(c->out, spaces / 2);
	out_name(c->out, name, comm);
	if (track) {
		out_bytes(c->out, "/co", 3);
		out_u64(c->out, track, 0, ' ');
	}
	out_char(c->out, '-');
	out_u64(c->out, t->tid, 0, ' ');
	out_spaces(c->out, spaces - spaces / 2);
}

/* The kernel's form, to the blank: scripts that read function_graph know the line by it. */
void graph_columns_switch(const struct graph_columns *c, const struct graph_context *from,
			  const struct graph_context *to)
{
	static const char rule[] = " ------------------------------------------\n";

	out_str(c->out, rule);
	print_cpu(c, to->cpu);
	print_proc(c, from->thread, from->track, to->tsc);
	out_str(c->out, " => ");
	print_proc(c, to->thread, to->track, to->tsc);
	out_char(c->out, '\n');
	out_str(c->out, rule);
	out_char(c->out, '\n');
}

static void print_abstime(const struct graph_columns *c, uint64_t tsc)
{
	/* The kernel divides so, whatever the clock's unit. */
	uint64_t us = trace_clock_shown(&c->info->clock, tsc) / 1000;

	out_u64(c->out, us / 1000000, 5, ' ');
	out_char(c->out, '.');
	out_u64(c->out, us % 1000000, 6, '0');
	out_bytes(c->out, " |  ", 4);
}

/* Microseconds since the wake. 0 before it: records of the buffer may be older than the wake. */
static void print_reltime(const struct graph_columns *c, uint64_t tsc)
{
	const uint64_t ns = trace_clock_shown(&c->info->clock, tsc);

	out_u64(c->out, ns > c->start_ns ? (ns - c->start_ns) / 1000 : 0, 9, ' ');
	out_bytes(c->out, " us |  ", 7);
}

/* In the kernel's order: time, CPU, task, latency. */
void graph_columns_context(const struct graph_columns *c, const struct graph_context *at)
{
	if (!graph_columns_on(c, OPTION_CONTEXT_INFO))
		return;
	if (graph_columns_on(c, OPTION_GRAPH_ABSTIME))
		print_abstime(c, at->tsc);
	if (c->latency_tracer)
		print_reltime(c, at->tsc);
	if (graph_columns_on(c, OPTION_GRAPH_CPU))
		print_cpu(c, at->cpu);
	if (graph_columns_on(c, OPTION_GRAPH_PROC)) {
		print_proc(c, at->thread, at->track, at->tsc);
		out_bytes(c->out, " | ", 3);
	}
	if (graph_columns_on(c, OPTION_LATENCY_FORMAT))
		/* user code: interrupts on, nothing disabled */
		out_str(c->out, " ..... | ");
}

/* Without its context a line has no duration, either. */
bool graph_columns_has_duration(const struct graph_columns *c)
{
	return graph_columns_on(c, OPTION_GRAPH_DURATION) &&
	       graph_columns_on(c, OPTION_CONTEXT_INFO);
}

/* As wide as a duration, so that the columns stay one below the other. */
void graph_columns_no_duration(const struct graph_columns *c)
{
	if (graph_columns_has_duration(c))
		out_str(c->out, "              |  ");
}

void graph_columns_duration(const struct graph_columns *c, uint64_t ns)
{
	if (!graph_columns_has_duration(c))
		return;
	out_char(c->out, graph_columns_on(c, OPTION_GRAPH_OVERHEAD) ? format_mark(ns) : ' ');
	out_char(c->out, ' ');
	format_duration(c->out, ns);
	out_bytes(c->out, "|  ", 3);
}

/* Deeper calls all stand at one place, so that a recursion does not fill the screen with blanks. */
void graph_columns_indent(const struct graph_columns *c, uint32_t depth)
{
	out_spaces(c->out, GRAPH_INDENT * (depth < GRAPH_INDENT_MAX ? depth : GRAPH_INDENT_MAX));
}

/* The | closes the column of durations, where there is one. */
void graph_columns_arrow(const struct graph_columns *c, const char *arrow)
{
	if (graph_columns_has_duration(c))
		out_bytes(c->out, "  ", 2);
	out_str(c->out, arrow);
	out_str(c->out, graph_columns_has_duration(c) ? " |\n" : "\n");
}
