/* SPDX-License-Identifier: MIT */
#include "report/printer.h"

#include <string.h>

#include "model/option.h"
#include "report/function.h"
#include "report/graph.h"

struct printer_ops {
	const char *tracer;
	void *(*open)(const struct trace_info *info, uint64_t options, struct out *out);
	void (*header)(void *state, const struct trace_header *h);
	void (*event)(void *state, const struct event *e);
	void (*flush)(void *state);
	void (*close)(void *state);
};

static void *open_graph(const struct trace_info *info, uint64_t options, struct out *out)
{
	return graph_new(info, options, out);
}

static void *open_function(const struct trace_info *info, uint64_t options, struct out *out)
{
	return function_new(info, options, out);
}

static void header_graph(void *state, const struct trace_header *h) { graph_header(state, h); }
static void header_function(void *state, const struct trace_header *h) { function_header(state, h); }
static void event_graph(void *state, const struct event *e) { graph_event(state, e); }
static void flush_graph(void *state) { graph_flush(state); }
static void close_graph(void *state) { graph_free(state); }
static void event_function(void *state, const struct event *e) { function_event(state, e); }
static void flush_function(void *state) { function_flush(state); }
static void close_function(void *state) { function_free(state); }

static const struct printer_ops printers[] = {
	{ "function_graph", open_graph, header_graph, event_graph, flush_graph, close_graph },
	{ "function", open_function, header_function, event_function, flush_function, close_function },
};

static const struct printer_ops *ops_for(const struct trace_info *info)
{
	return &printers[info->tracer && strcmp(info->tracer, printers[0].tracer)];
}

bool printer_is_binary(const struct trace_info *info, uint64_t options)
{
	return ops_for(info)->open == open_function && option_is_set(options, OPTION_BIN);
}

void printer_open(struct printer *p, const struct trace_info *info, uint64_t options, struct out *out)
{
	p->ops = ops_for(info);
	p->state = p->ops->open(info, options, out);
}

void printer_header(struct printer *p, const struct trace_header *h)
{
	p->ops->header(p->state, h);
}

void printer_begin(struct printer *p, const struct trace_info *info, uint64_t options, struct out *out)
{
	const struct trace_header h = {
		.entries = info->total.records,
		.written = info->total.records + info->total.lost,
	};

	printer_open(p, info, options, out);
	printer_header(p, &h);
}

void printer_event(struct printer *p, const struct event *e)
{
	p->ops->event(p->state, e);
}

void printer_flush(struct printer *p)
{
	p->ops->flush(p->state);
}

void printer_close(struct printer *p)
{
	p->ops->flush(p->state);
	p->ops->close(p->state);
}
