/* SPDX-License-Identifier: MIT */
/* Called by folded.c, flamegraph.c and pprof.c. A program that recurses without end, or a damaged
 * file, could make any number of stacks: depth and number are limited, and what is beyond is
 * counted in job->folded. One thread: that of the export. */
#include "export/call_tree.h"

#include <stdlib.h>
#include <string.h>

/* Adds a stack below `parent`, under its key in `children`. Children are a list, the newest
 * first, and every node stands behind its parent in the vector: one pass from the end sums up. */
static uint32_t add_node(struct call_tree *t, uint32_t parent, uint32_t function, uint64_t key)
{
	uint32_t row = (uint32_t)t->nodes.n;
	struct call_node *n = vec_add(&t->nodes);

	*n = (struct call_node){ .parent = parent, .function = function,
				 .next = t->nodes.at[parent].child };
	t->nodes.at[parent].child = row;
	number_map_set(&t->children, key, row);
	return row;
}

/* The node of a stack: `function` called by the stack of `parent`. A key is 1 + both numbers,
 * since 0 is no key of the map. CALL_TREE_NONE: there are too many stacks. */
static uint32_t child_of(struct call_tree *t, uint32_t parent, uint32_t function)
{
	uint64_t key = ((uint64_t)parent << 32 | function) + 1;
	uint64_t row = number_map_get(&t->children, key);

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	return t->nodes.n < CALL_TREE_MOST ? add_node(t, parent, function, key) : CALL_TREE_NONE;
}

/* The number of a root's name; takes the name over. A list is enough: few threads have names of
 * their own. */
static uint32_t name_number(struct call_tree *t, char *name)
{
	for (size_t i = 0; i < t->names.n; i++)
		if (!strcmp(t->names.at[i], name)) {
			free(name);
			return (uint32_t)i;
		}
	*vec_add(&t->names) = name;
	return (uint32_t)t->names.n - 1;
}

/* The lane's root, shared by all threads of one name. Coroutines stand with their thread: their
 * number says little of them. Where there is no room for a root, the first one takes its calls. */
static uint32_t root_of(struct call_tree *t, uint32_t lane)
{
	const struct walk_lane *l = &t->walk.lanes.at[lane];
	const struct trace_thread *thread = &t->walk.info->threads.at[l->thread];

	while (t->root_of.n <= lane)
		*vec_add(&t->root_of) = 0;
	if (!t->root_of.at[lane]) {
		uint32_t name = name_number(t, mem_strndup(trace_thread_name(thread), TRACE_COMM));
		uint32_t root = child_of(t, 0, name);

		t->root_of.at[lane] = root == CALL_TREE_NONE ? 1 : root;
	}
	return t->root_of.at[lane];
}

/* The node that the call's own time is not part of: its caller's, or that of the program's call
 * that a call of the kernel's lies in, or, for an outermost call, the lane's root. */
static uint32_t caller_node(struct call_tree *t, const struct walk_step *s)
{
	if (s->depth)
		return s->frame[-1].note;
	return s->below ? s->below->note : root_of(t, s->lane);
}

/* note: the call's node, or that of the caller it is added to, which is in root. */
static void begin_call(struct call_tree *t, const struct walk_step *s)
{
	uint32_t caller = caller_node(t, s), node = CALL_TREE_NONE;

	if (s->depth < CALL_TREE_DEPTH)
		node = child_of(t, caller, s->function);
	s->frame->note = node == CALL_TREE_NONE ? caller : node;
	s->frame->root = caller;
}

/* A call whose caller has the same node was added to it. */
static void end_call(struct call_tree *t, const struct walk_step *s)
{
	uint32_t node = s->frame->note;
	struct call_node *n = &t->nodes.at[node];

	n->self += s->self;
	if (node == s->frame->root) {
		t->job->folded++;
		return;
	}
	n->calls++;
	n->total += s->ticks;
}

/* The walk's step; only calls make stacks. Events and losses have no place in a sum. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct call_tree *t = arg;

	if (s->kind == WALK_BEGIN)
		begin_call(t, s);
	if (s->kind == WALK_END)
		end_call(t, s);
	return 0;
}

/* "vfs_read_[k]" for each function of the kernel's that was called, as perf's stacks mark it. */
static void name_kernel(struct call_tree *t)
{
	for (uint32_t i = 0; i < t->walk.functions.n; i++)
		*vec_add(&t->kernel_names) =
			walk_is_kernel_function(&t->walk, i)
				? mem_printf("%s_[k]", t->walk.functions.at[i].text) : NULL;
}

int call_tree_read(struct call_tree *t, struct export_job *job, struct err *err)
{
	int r;

	*t = (struct call_tree){ .job = job };
	walk_init(&t->walk, job->source);
	t->walk.nests_kernel = true;
	*vec_add(&t->nodes) = (struct call_node){ .parent = CALL_TREE_NONE };
	r = export_walk(job, &t->walk, take_step, t, err);
	name_kernel(t);
	return r;
}

void call_tree_free(struct call_tree *t)
{
	for (size_t i = 0; i < t->names.n; i++)
		free(t->names.at[i]);
	for (size_t i = 0; i < t->kernel_names.n; i++)
		free(t->kernel_names.at[i]);
	vec_free(&t->names);
	vec_free(&t->kernel_names);
	vec_free(&t->nodes);
	vec_free(&t->root_of);
	number_map_free(&t->children);
	walk_free(&t->walk);
}

const char *call_tree_function(const struct call_tree *t, uint32_t function)
{
	return t->kernel_names.at[function] ? t->kernel_names.at[function]
					    : t->walk.functions.at[function].text;
}

/* A node right below the root is a thread, and its `function` an index of the threads' names. */
const char *call_tree_name(const struct call_tree *t, uint32_t node)
{
	const struct call_node *n = &t->nodes.at[node];

	return n->parent ? call_tree_function(t, n->function) : t->names.at[n->function];
}

/* The root's number is one of names: no function. */
bool call_tree_is_kernel(const struct call_tree *t, uint32_t node)
{
	const struct call_node *n = &t->nodes.at[node];

	return n->parent && t->kernel_names.at[n->function];
}

uint64_t call_tree_weight(const struct call_tree *t, uint32_t node)
{
	const struct call_node *n = &t->nodes.at[node];

	if (t->job->weight == WEIGHT_CALLS)
		return n->calls;
	return walk_ns(&t->walk, t->job->weight == WEIGHT_TOTAL ? n->total : n->self);
}
