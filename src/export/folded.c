/* SPDX-License-Identifier: MIT */
/* Brendan Gregg's folded stacks: "thread;main;f 1234", a line for each stack. Read by
 * flamegraph.pl, speedscope, Perfetto and inferno. exporter.c calls it, on the thread that exports;
 * `out` keeps a write error. */
#include "export/call_tree.h"
#include "export/formats.h"

#include <string.h>

/* A name has no semicolon in this format. Control characters are escaped by *o. */
static void put_name(struct out *o, const char *name)
{
	for (size_t n; *name; name += n + !!name[n]) {
		n = strcspn(name, ";");
		out_foreign(o, name, n);
		if (name[n])
			out_char(o, ':');
	}
}

/* Outermost first: the nodes from the root to this one. */
static void put_stack(const struct call_tree *t, uint32_t node, struct out *o)
{
	uint32_t path[CALL_TREE_DEPTH + 2];
	size_t n = 0;

	for (; node; node = t->nodes.at[node].parent)
		path[n++] = node;
	while (n--) {
		put_name(o, call_tree_name(t, path[n]));
		if (n)
			out_char(o, ';');
	}
}

/* A line for each stack with a weight of its own. Stacks that only lead to others have none, and
 * flamegraph.pl adds them up itself. */
static void put_all(const struct call_tree *t, struct out *o)
{
	for (uint32_t i = 1; i < t->nodes.n && !o->error; i++) {
		uint64_t weight = call_tree_weight(t, i);

		if (!weight)
			continue;
		put_stack(t, i, o);
		out_char(o, ' ');
		out_u64(o, weight, 1, ' ');
		out_char(o, '\n');
	}
}

/* The exporter's `write`. */
static int write_folded(struct export_job *job, struct err *err)
{
	struct call_tree t;
	int r = call_tree_read(&t, job, err);

	if (!r)
		put_all(&t, job->out);
	call_tree_free(&t);
	return r;
}

const struct exporter export_folded = {
	.name = "folded", .summary = "folded stacks, for flamegraph.pl and its kin", .weighs = true,
	.sums = true, .holds = HOLDS_KERNEL, .write = write_folded,
};
