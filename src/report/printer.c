/* SPDX-License-Identifier: MIT */
/* Dispatches between the printers, which the rows of tracers name (model/tracer.h). Adapters give
 * them the same signatures. Nothing fails: a trace file may name any tracer, and one that is not
 * known is printed as `function`. A printer belongs to the thread that prints. */
#include "report/printer.h"

#include <string.h>

#include "model/option.h"
#include "model/tracer.h"
#include "report/function.h"
#include "report/graph.h"
#include "report/kernel_graph.h"
#include "report/latency_graph.h"
#include "report/source_text.h"

/* A printer's functions. `flush` prints what waits for the next record; `close` frees the state. */
struct printer_ops {
	const char *name;
	void *(*open)(const struct trace_info *info, uint64_t options, struct out *out);
	void (*header)(void *state, const struct trace_header *h);
	void (*event)(void *state, const struct event *e);
	void (*flush)(void *state);
	void (*close)(void *state);
	bool binary;             /* it knows the option bin */
	/* Before the first event; NULL: it prints no callers. */
	void (*set_callers)(void *state, const struct callers *callers);
	void (*set_sources)(void *state, struct source_text *sources);
};

static void *open_graph(const struct trace_info *info, uint64_t options, struct out *out)
{
	return graph_new(info, options, out);
}

static void *open_function(const struct trace_info *info, uint64_t options, struct out *out)
{
	return function_new(info, options, out);
}

static void *open_kernel(const struct trace_info *info, uint64_t options, struct out *out)
{
	return kernel_graph_new(info, options, out);
}

static void *open_latency(const struct trace_info *info, uint64_t options, struct out *out)
{
	return latency_graph_new(info, options, out);
}

static void header_latency(void *state, const struct trace_header *h)
{
	latency_graph_header(state, h);
}
static void event_latency(void *state, const struct event *e) { latency_graph_event(state, e); }
static void flush_latency(void *state) { latency_graph_flush(state); }
static void close_latency(void *state) { latency_graph_free(state); }
static void header_kernel(void *state, const struct trace_header *h)
{
	kernel_graph_header(state, h);
}
static void event_kernel(void *state, const struct event *e) { kernel_graph_event(state, e); }
static void flush_kernel(void *state) { kernel_graph_flush(state); }
static void close_kernel(void *state) { kernel_graph_free(state); }
static void header_graph(void *state, const struct trace_header *h) { graph_header(state, h); }
static void header_function(void *state, const struct trace_header *h)
{
	function_header(state, h);
}
static void event_graph(void *state, const struct event *e) { graph_event(state, e); }
static void flush_graph(void *state) { graph_flush(state); }
static void close_graph(void *state) { graph_free(state); }
static void set_callers_graph(void *state, const struct callers *callers)
{
	graph_set_callers(state, callers);
}
static bool print_source(void *sources, struct out *out, uint32_t image, const struct call_step *s)
{
	return source_text_print(sources, out, image, s->fn, s->site, s->tsc);
}
static void set_sources_graph(void *state, struct source_text *sources)
{
	if (sources)
		graph_set_places(state, print_source, sources);
}
static void event_function(void *state, const struct event *e) { function_event(state, e); }
static void flush_function(void *state) { function_flush(state); }
static void close_function(void *state) { function_free(state); }

/* By the names that rows of tracers have (`printer`). Adapters above give each printer's functions
 * a void pointer. */
static const struct printer_ops printers[] = {
	{
		.name = "function_graph",
		.open = open_graph,
		.header = header_graph,
		.event = event_graph,
		.flush = flush_graph,
		.close = close_graph,
		.set_callers = set_callers_graph,
		.set_sources = set_sources_graph,
	},
	{
		.name = "function",
		.open = open_function,
		.header = header_function,
		.event = event_function,
		.flush = flush_function,
		.close = close_function,
		.binary = true,
	},
};

/* No tracer's row names it: a trace of the kernel alone has function_graph's. */
static const struct printer_ops kernel_printer = {
	.name = "function_graph",
	.open = open_kernel,
	.header = header_kernel,
	.event = event_kernel,
	.flush = flush_kernel,
	.close = close_kernel,
};

/* No tracer's row names display-graph: latency tracers have it by the option. */
static const struct printer_ops latency_printer = {
	.name = "display-graph",
	.open = open_latency,
	.header = header_latency,
	.event = event_latency,
	.flush = flush_latency,
	.close = close_latency,
};

static const struct printer_ops *printer_named(const char *name)
{
	for (size_t i = 0; i < sizeof(printers) / sizeof(*printers); i++)
		if (!strcmp(printers[i].name, name))
			return &printers[i];
	return NULL;
}

/* Never NULL. The order matters: a trace of the kernel alone has the tracer function_graph, too,
 * and a latency tracer has a printer by its row besides the one that display-graph chooses. */
static const struct printer_ops *ops_for(const struct trace_info *info, uint64_t options)
{
	/* Files of the first versions do not name their tracer: there was one. */
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : &tracer_function_graph;

	if (t == &tracer_function_graph && trace_info_has_kernel(info) &&
	    (info->sides == SIDE_KERNEL || trace_info_is_kernel(info)))
		return &kernel_printer;
	if (latency_graph_is_wanted(info, options))
		return &latency_printer;
	return printer_named((t ? t : &tracer_function)->printer);
}

/* Only the function printer knows the option bin; the graph prints text whatever is set, as
 * ftrace's. */
bool printer_is_binary(const struct trace_info *info, uint64_t options)
{
	return ops_for(info, options)->binary && option_is_set(options, OPTION_BIN);
}

/* The choice is made once: options that change which printer it is need a new one. */
void printer_open(struct printer *p, const struct trace_info *info, uint64_t options,
		  struct out *out)
{
	p->info = info;
	p->ops = ops_for(info, options);
	p->state = p->ops->open(info, options, out);
}

bool printer_wants_callers(const struct trace_info *info, uint64_t options)
{
	return ops_for(info, options)->set_callers && option_is_set(options, OPTION_GRAPH_RETADDR);
}

/* Printers that have no use for callers or sources ignore them, so that commands need not ask which
 * one they have. */
void printer_set_callers(struct printer *p, const struct callers *callers)
{
	if (p->ops->set_callers)
		p->ops->set_callers(p->state, callers);
}

void printer_set_sources(struct printer *p, struct source_text *sources)
{
	if (p->ops->set_sources)
		p->ops->set_sources(p->state, sources);
}

void printer_header(struct printer *p, const struct trace_header *h)
{
	p->ops->header(p->state, h);
}

/* The header's line "entries-in-buffer/entries-written" is ftrace's: what was written is what is
 * there and what was lost. */
void printer_begin(struct printer *p, const struct trace_info *info, uint64_t options,
		   struct out *out)
{
	const struct trace_header h = {
		.entries = info->total.records,
		.written = info->total.records + info->total.lost,
	};

	printer_open(p, info, options, out);
	printer_header(p, &h);
}

/* Threads of the side that is not shown (trace_info.sides) are left out here, for all printers
 * alike: printers tell nothing of them, not even a switch to one. */
void printer_event(struct printer *p, const struct event *e)
{
	if (trace_info_shows(p->info, e->thread))
		p->ops->event(p->state, e);
}

void printer_flush(struct printer *p)
{
	p->ops->flush(p->state);
}

/* The last line may wait for a record that does not come. */
void printer_close(struct printer *p)
{
	p->ops->flush(p->state);
	p->ops->close(p->state);
}
