/* SPDX-License-Identifier: MIT */
/* A call graph for graphviz, as gprof2dot draws profiles: functions with their calls and own time,
 * edges with theirs. exporter.c calls it, on the thread that exports; `out` keeps a write error. */
#include "export/edges.h"
#include "export/formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

/* A string in quotes, of whole characters; only a quote and a backslash mean something there. */
static void put_string(struct out *o, const char *s)
{
	size_t left = strlen(s);
	uint32_t code;

	for (size_t n; left; s += n, left -= n) {
		n = utf8_character(s, left, &code);
		if (!n || !escape_is_printable(code)) {
			out_char(o, '?');
			n = n ? n : 1;
			continue;
		}
		if (*s == '"' || *s == '\\')
			out_char(o, '\\');
		out_bytes(o, s, n);
	}
}

/* A box with the function's name, its file and own figures; a thread is an ellipse with its
 * name. */
static void put_node(const struct edges *e, struct out *o, uint32_t i)
{
	const struct edge_node *n = &e->nodes.at[i];
	const char *file, *name = edges_name(e, i, &file);

	out_printf(o, "\tn%u [label=\"", i);
	put_string(o, name);
	if (file) {
		out_str(o, "\\n");
		put_string(o, file);
	}
	if (!n->thread) {
		out_printf(o, "\\n%" PRIu64 " calls, ", n->calls);
		export_put_us(o, walk_ns(&e->walk, n->self));
		out_str(o, " us");
	}
	out_str(o, n->thread ? "\",shape=ellipse];\n" : "\"];\n");
}

/* Calls, and the time in them, as the edge's label. */
static void put_edge(const struct edges *e, struct out *o, const struct edge *g)
{
	out_printf(o, "\tn%u -> n%u [label=\"%" PRIu64 "\\n", g->caller, g->callee, g->calls);
	export_put_us(o, walk_ns(&e->walk, g->ticks));
	out_str(o, " us\"];\n");
}

/* The exporter's `write`. */
static int write_dot(struct export_job *job, struct err *err)
{
	struct edges e;
	int r = edges_read(&e, job, err);

	out_str(job->out, "digraph brace {\n\tnode [shape=box];\n");
	for (uint32_t i = 0; i < e.nodes.n && !r; i++)
		put_node(&e, job->out, i);
	for (size_t i = 0; i < e.edges.n && !r; i++)
		put_edge(&e, job->out, &e.edges.at[i]);
	out_str(job->out, "}\n");
	edges_free(&e);
	return r;
}

const struct exporter export_dot = {
	.name = "dot", .summary = "a call graph, for graphviz", .sums = true,
	.holds = HOLDS_KERNEL, .write = write_dot,
};
