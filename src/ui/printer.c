#include "ui/printer.h"

#include "report/graph.h"

void printer_open(struct printer *p, const struct trace_info *info, uint64_t options,
		  struct out *out)
{
	const struct trace_header header = { 0 };

	p->graph = graph_new(info, options, out);
	graph_header(p->graph, &header);
}

void printer_event(struct printer *p, const struct event *e)
{
	graph_event(p->graph, e);
}

void printer_flush(struct printer *p)
{
	graph_flush(p->graph);
}

void printer_close(struct printer *p)
{
	graph_flush(p->graph);
	graph_free(p->graph);
}
