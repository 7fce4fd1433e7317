/* SPDX-License-Identifier: MIT */
/* callgrind's format, for callgrind_annotate and KCachegrind: each function's own time, and for
 * each function it calls the number of calls and their time. A trace knows no lines inside of a
 * function: its times stand at the line of its name, where debug information tells it, else at line
 * 0 of its binary. exporter.c calls it, on the thread that exports; `out` keeps a write error. */
#include "export/edges.h"
#include "export/formats.h"

#include <inttypes.h>
#include <string.h>

#include "report/declared.h"

/* path NULL: not known. */
struct declared_line { const char *path; uint32_t line; };

/* The writing's state and its output. Names and lines are numbered by node of the edges. */
struct callgrind {
	struct edges edges;
	VEC(bool) named;  /* by node: its name has been written */
	VEC(struct declared_line) lines;   /* by node */
	struct declared *declared;
	struct out *out;
};

/* "fn=(3) name"; the name only at the first time. */
static void put_name(struct callgrind *c, const char *key, uint32_t node, const char *name)
{
	out_str(c->out, key);
	out_printf(c->out, "(%u)", node + 1);
	if (!c->named.at[node]) {
		out_char(c->out, ' ');
		out_foreign(c->out, name, strlen(name));
	}
	out_char(c->out, '\n');
}

/* Finds where each function's name stands in the source, once, before anything is written.
 * Threads are nodes too, but no functions: they have none. */
static void find_lines(struct callgrind *c)
{
	for (size_t i = 0; i < c->edges.nodes.n; i++) {
		uint32_t function = c->edges.nodes.at[i].function;
		struct declared_line line = { 0 };
		const struct trace_module *m = NULL;
		const struct trace_function *f =
			function != EDGE_NO_FUNCTION
				? walk_function(&c->edges.walk, function, &m)
				: NULL;

		if (f && m)
			line.path = declared_of(c->declared, m, f, &line.line);
		*vec_add(&c->lines) = line.path ? line : (struct declared_line){ 0 };
	}
}

/* Where the source is not known the binary stands for it, so that equal names of two binaries stay
 * apart. */
static void put_file(struct callgrind *c, const char *object, const char *source,
		     const char *file, uint32_t node)
{
	const char *path = c->lines.at[node].path;

	out_str(c->out, object);
	out_foreign(c->out, file ? file : "threads", file ? strlen(file) : 7);
	out_char(c->out, '\n');
	out_str(c->out, source);
	if (path) {
		out_foreign(c->out, path, strlen(path));
		out_char(c->out, '\n');
		return;
	}
	out_char(c->out, '[');
	out_foreign(c->out, file ? file : "threads", file ? strlen(file) : 7);
	out_str(c->out, "]\n");
}

/* One line of costs below the caller's: how often it called, and what those calls took with all
 * below them (callgrind's inclusive cost). */
static void put_call(struct callgrind *c, const struct edge *e)
{
	const char *file, *name = edges_name(&c->edges, e->callee, &file);

	put_file(c, "cob=", "cfi=", file, e->callee);
	put_name(c, "cfn=", e->callee, name);
	c->named.at[e->callee] = true;
	out_printf(c->out, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 "\n", e->calls,
		   c->lines.at[e->callee].line, c->lines.at[e->caller].line,
		   walk_ns(&c->edges.walk, e->ticks));
}

/* Returns the first edge of the next caller. */
static size_t put_function(struct callgrind *c, uint32_t node, size_t edge)
{
	const char *file, *name = edges_name(&c->edges, node, &file);

	put_file(c, "ob=", "fl=", file, node);
	put_name(c, "fn=", node, name);
	c->named.at[node] = true;
	out_printf(c->out, "%" PRIu32 " %" PRIu64 "\n", c->lines.at[node].line,
		   walk_ns(&c->edges.walk, c->edges.nodes.at[node].self));
	for (; edge < c->edges.edges.n && c->edges.edges.at[edge].caller == node; edge++)
		put_call(c, &c->edges.edges.at[edge]);
	out_char(c->out, '\n');
	return edge;
}

/* The head with the sum of all own times, then each function with its calls. Edges are sorted by
 * caller, so `edge` moves on through them once. */
static void put_all(struct callgrind *c)
{
	const char *command = c->edges.walk.info->cmdline;
	uint64_t sum = 0;
	size_t edge = 0;

	for (size_t i = 0; i < c->edges.nodes.n; i++)
		sum += walk_ns(&c->edges.walk, c->edges.nodes.at[i].self);
	out_str(c->out, "# callgrind format\nversion: 1\ncreator: brace\ncmd: ");
	out_foreign(c->out, command ? command : "", command ? strlen(command) : 0);
	out_printf(c->out,
		   "\npositions: line\nevent: ns : nanoseconds\nevents: ns\nsummary: %" PRIu64 "\n\n",
		   sum);
	for (uint32_t i = 0; i < c->edges.nodes.n; i++)
		edge = put_function(c, i, edge);
	out_printf(c->out, "totals: %" PRIu64 "\n", sum);
}

/* The exporter's `write`. Everything is read before the first byte: a summary stands in the
 * head. */
static int write_callgrind(struct export_job *job, struct err *err)
{
	struct callgrind c = { .out = job->out, .declared = declared_new() };
	int r = edges_read(&c.edges, job, err);

	for (size_t i = 0; i < c.edges.nodes.n; i++)
		*vec_add(&c.named) = false;
	if (!r) {
		find_lines(&c);
		r = declared_failure(c.declared, err);
	}
	if (!r)
		put_all(&c);
	vec_free(&c.lines);
	declared_free(c.declared);
	edges_free(&c.edges);
	vec_free(&c.named);
	return r;
}

const struct exporter export_callgrind = {
	.name = "callgrind", .summary = "callgrind's profile, for callgrind_annotate and KCachegrind",
	.sums = true, .holds = HOLDS_KERNEL, .write = write_callgrind,
};
