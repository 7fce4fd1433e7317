/* SPDX-License-Identifier: MIT */
/* Called by callgrind.c and dot.c. Both tables grow with the functions that the trace has, not with
 * its calls. One thread: that of the export. Nothing fails. */
#include "export/edges.h"

#include <stdlib.h>
#include <string.h>

/* Takes the name over; NULL: a function's node. Returns its number. */
static uint32_t add_node(struct edges *e, uint32_t function, char *thread)
{
	*vec_add(&e->nodes) = (struct edge_node){ .function = function, .thread = thread };
	return (uint32_t)e->nodes.n - 1;
}

/* The function's node, made at its first call. of_function has 1 + node, 0: none yet. */
static uint32_t function_node(struct edges *e, uint32_t function)
{
	while (e->of_function.n <= function)
		*vec_add(&e->of_function) = 0;
	if (!e->of_function.at[function])
		e->of_function.at[function] = 1 + add_node(e, function, NULL);
	return e->of_function.at[function] - 1;
}

/* The node of all threads of one name, sought among all nodes: once for each lane. Takes the
 * name over. */
static uint32_t thread_node(struct edges *e, char *name)
{
	for (uint32_t i = 0; i < e->nodes.n; i++)
		if (e->nodes.at[i].thread && !strcmp(e->nodes.at[i].thread, name)) {
			free(name);
			return i;
		}
	return add_node(e, EDGE_NO_FUNCTION, name);
}

/* The node that calls the outermost functions of a lane; coroutines stand with their thread. */
static uint32_t lane_node(struct edges *e, uint32_t lane)
{
	const struct walk_lane *l = &e->walk.lanes.at[lane];
	const struct trace_thread *t = &e->walk.info->threads.at[l->thread];
	char *name;

	while (e->of_lane.n <= lane)
		*vec_add(&e->of_lane) = 0;
	if (!e->of_lane.at[lane]) {
		name = mem_printf("thread %.*s", TRACE_COMM, trace_thread_name(t));
		e->of_lane.at[lane] = 1 + thread_node(e, name);
	}
	return e->of_lane.at[lane] - 1;
}

/* The edge between two nodes, made at the first call. Valid until the next one is made. */
static struct edge *edge_of(struct edges *e, uint32_t caller, uint32_t callee)
{
	uint64_t key = ((uint64_t)caller << 32 | callee) + 1, row = number_map_get(&e->rows, key);

	if (row == NUMBER_NONE) {
		row = e->edges.n;
		*vec_add(&e->edges) = (struct edge){ .caller = caller, .callee = callee };
		number_map_set(&e->rows, key, row);
	}
	return &e->edges.at[row];
}

/* Time of a function that calls itself counts once. */
static void add_call(struct edges *e, const struct walk_step *s)
{
	uint32_t callee = function_node(e, s->function);
	uint32_t caller = s->depth         ? function_node(e, s->frame[-1].function)
			  : s->frame->note ? s->frame->note - 1
					   : lane_node(e, s->lane);
	struct edge *edge = edge_of(e, caller, callee);

	edge->calls++;
	edge->ticks += caller == callee ? 0 : s->ticks;
	e->nodes.at[callee].calls++;
	e->nodes.at[callee].self += s->self;
}

/* Only a call's end knows its time, and only a beginning of the kernel's its caller: note is that
 * one's node, + 1. */
static int take_step(void *arg, const struct walk_step *s)
{
	if (s->kind == WALK_BEGIN && s->below)
		s->frame->note = 1 + function_node(arg, s->below->function);
	if (s->kind == WALK_END)
		add_call(arg, s);
	return 0;
}

/* By caller, then callee: callgrind.c writes a caller's edges together. */
static int by_caller(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* By caller, so that formats which list a function with all that it calls can write as they
 * read. */
int edges_read(struct edges *e, struct export_job *job, struct err *err)
{
	int r;

	*e = (struct edges){ 0 };
	walk_init(&e->walk, job->source);
	e->walk.nests_kernel = true;
	r = export_walk(job, &e->walk, take_step, e, err);
	if (e->edges.n)
		qsort(e->edges.at, e->edges.n, sizeof(*e->edges.at), by_caller);
	return r;
}

void edges_free(struct edges *e)
{
	for (size_t i = 0; i < e->nodes.n; i++)
		free(e->nodes.at[i].thread);
	vec_free(&e->nodes);
	vec_free(&e->edges);
	vec_free(&e->of_function);
	vec_free(&e->of_lane);
	number_map_free(&e->rows);
	walk_free(&e->walk);
}

/* A thread is a node, too: the caller of what nobody called in the trace. It has no file. */
const char *edges_name(const struct edges *e, uint32_t node, const char **file)
{
	const struct edge_node *n = &e->nodes.at[node];

	*file = n->thread || !*e->walk.functions.at[n->function].file
			? NULL
			: e->walk.functions.at[n->function].file;
	return n->thread ? n->thread : e->walk.functions.at[n->function].text;
}
