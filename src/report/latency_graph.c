/* SPDX-License-Identifier: MIT */
/* Two printers on one output: graph.c's for calls and events, function.c's for stacks. printer.c
 * calls it for one reader, on the thread that prints. Each printer holds lines back until a later
 * record comes, so the one is flushed before the other gets a record. Nothing fails. */
#include "report/latency_graph.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/tracer.h"
#include "report/event_text.h"
#include "report/function.h"
#include "report/graph.h"

/* The kernel's latency tracers switch these options of the graph's printer on themselves. */
#define GRAPH_ON                                                                             \
	(OPTION_BIT(OPTION_GRAPH_CPU) | OPTION_BIT(OPTION_GRAPH_PROC) |                        \
	 OPTION_BIT(OPTION_GRAPH_DURATION) | OPTION_BIT(OPTION_GRAPH_OVERHEAD) |               \
	 OPTION_BIT(OPTION_GRAPH_IRQS))
#define GRAPH_OFF                                                                            \
	(OPTION_BIT(OPTION_GRAPH_ABSTIME) | OPTION_BIT(OPTION_GRAPH_TAIL) |                    \
	 OPTION_BIT(OPTION_GRAPH_OVERRUN) | OPTION_BIT(OPTION_GRAPH_RETVAL) |                  \
	 OPTION_BIT(OPTION_GRAPH_RETADDR) | OPTION_BIT(OPTION_GRAPH_ARGS))

struct latency_graph {
	struct graph *graph;
	struct function_printer *lines;
	struct event_texts *texts;
	bool started; /* the time is known from which lines count */
};

/* NULL: the trace is no latency tracer's. */
static const struct tracer *latency_tracer(const struct trace_info *info)
{
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : NULL;

	return t && t->wakes ? t : NULL;
}

bool latency_graph_is_wanted(const struct trace_info *info, uint64_t options)
{
	return option_is_set(options, OPTION_DISPLAY_GRAPH) && latency_tracer(info);
}

/* The graph's options are forced whatever the user has set, as in the kernel; the lines of stacks
 * have the user's. latency_graph_is_wanted() has made sure that there is a tracer. */
struct latency_graph *latency_graph_new(const struct trace_info *info, uint64_t options,
					struct out *out)
{
	struct latency_graph *l = mem_zalloc(sizeof(*l));

	l->graph = graph_new(info, (options | GRAPH_ON) & ~GRAPH_OFF, out);
	graph_set_latency(l->graph, latency_tracer(info)->name);
	l->lines = function_new(info, options, out);
	l->texts = event_texts_new(info);
	return l;
}

void latency_graph_free(struct latency_graph *l)
{
	if (!l)
		return;
	graph_free(l->graph);
	function_free(l->lines);
	event_texts_free(l->texts);
	free(l);
}

/* Both printers count from one time: the wake's, or the first record's where none was kept. */
static void start_at(struct latency_graph *l, uint64_t tsc)
{
	if (l->started)
		return;
	l->started = true;
	graph_start(l->graph, tsc);
	function_start(l->lines, tsc);
}

void latency_graph_header(struct latency_graph *l, const struct trace_header *h)
{
	if (h->latency)
		start_at(l, h->latency->start_tsc);
	graph_header(l->graph, h);
}

/* By name: these two are ftrace's own events, whose numbers differ from trace to trace. */
static bool is_stack(const struct latency_graph *l, const struct event *e)
{
	return e->kind == EVENT_TRACE && (event_text_is(l->texts, e, "kernel_stack") ||
					  event_text_is(l->texts, e, "user_stack"));
}

void latency_graph_event(struct latency_graph *l, const struct event *e)
{
	start_at(l, e->tsc);
	if (is_stack(l, e)) {
		graph_flush(l->graph);
		function_event(l->lines, e);
	} else {
		function_flush(l->lines);
		graph_event(l->graph, e);
	}
}

/* One of them has nothing: each was flushed when the other got a record. */
void latency_graph_flush(struct latency_graph *l)
{
	graph_flush(l->graph);
	function_flush(l->lines);
}
