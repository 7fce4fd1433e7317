#include "ui/printer.h"

#include <string.h>

#include "report/function.h"
#include "report/graph.h"

struct printer_ops {
	const char *tracer;
	void *(*open)(const struct trace_info *info, uint64_t options, struct out *out);
	void (*event)(void *state, const struct event *e);
	void (*flush)(void *state);
	void (*close)(void *state);
};

static struct trace_header header_of(const struct trace_info *info)
{
	return (struct trace_header){
		.entries = info->total.records,
		.written = info->total.records + info->total.lost,
	};
}

static void *open_graph(const struct trace_info *info, uint64_t options, struct out *out)
{
	const struct trace_header header = header_of(info);
	struct graph *g = graph_new(info, options, out);

	graph_header(g, &header);
	return g;
}

static void *open_function(const struct trace_info *info, uint64_t options, struct out *out)
{
	const struct trace_header header = header_of(info);
	struct function_printer *p = function_new(info, options, out);

	function_header(p, &header);
	return p;
}

static void event_graph(void *state, const struct event *e) { graph_event(state, e); }
static void flush_graph(void *state) { graph_flush(state); }
static void close_graph(void *state) { graph_free(state); }
static void event_function(void *state, const struct event *e) { function_event(state, e); }
static void flush_function(void *state) { function_flush(state); }
static void close_function(void *state) { function_free(state); }

static const struct printer_ops printers[] = {
	{ "function_graph", open_graph, event_graph, flush_graph, close_graph },
	{ "function", open_function, event_function, flush_function, close_function },
};

void printer_open(struct printer *p, const struct trace_info *info, uint64_t options,
		  struct out *out)
{
	p->ops = &printers[info->tracer && !strcmp(info->tracer, printers[1].tracer)];
	p->state = p->ops->open(info, options, out);
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
