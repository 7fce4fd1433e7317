/* SPDX-License-Identifier: MIT */
/* Threads are followed one after another, each by itself as in a summary, so that the sums of a
 * function's nodes are its row of `brace report`. Called by cmd/report.c. Fails as its input
 * does. */
#include "report/path_sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number_map.h"
#include "base/table_hash.h"
#include "report/gathered.h"
#include "report/losses.h"
#include "report/row_name.h"
#include "report/thread_calls.h"
#include "trace/overloads.h"

#define NAMES 0    /* maps[NAMES]: hash of a name and a module -> row */
#define FUNCTIONS 1 /* image and function -> row */
#define CHILDREN 2 /* node and row -> node */
#define MAPS 3
#define SHARE 7

typedef VEC(uint32_t) path_stack;

struct path_reading {
	struct path_sums *tree;
	struct overloads overloads;
	VEC(path_stack) stacks;  /* open nodes, by track */
	uint32_t image;          /* of the thread that is read */
	bool coroutine;          /* it made calls on a stack that is not its own */
};

/* --- functions -------------------------------------------------------------------------------- */

/* The row of this name and module; takes the name over. Hashes of two rows may be equal: the next
 * number is tried. Odd numbers alone are keys, so that none is 0, which the map does not keep. A
 * row is found by comparing its texts, whatever the hash says. */
static uint32_t row_named(struct path_sums *t, char *name, const char *module, bool symbol)
{
	uint64_t h = table_hash_text(table_hash_text(0, name), module) | 1, at;

	while ((at = number_map_get(&t->maps[NAMES], h)) != NUMBER_NONE) {
		const struct path_function *r = &t->rows.at[at];

		if (!strcmp(r->name, name) && !strcmp(r->module, module)) {
			free(name);
			return (uint32_t)at;
		}
		h += 2;
	}
	at = t->rows.n;
	*vec_add(&t->rows) = (struct path_function){ name, mem_strdup(module), symbol };
	number_map_set(&t->maps[NAMES], h, at);
	return (uint32_t)at;
}

/* Functions of one name and file are one, whatever image they are in. So a function of a program
 * that was executed ten times is one line. The name is made once for each image, because making it
 * (demangling, telling overloads apart) takes far longer than to find it. Ids that nothing defines
 * are one row, too. */
static uint32_t row_of(struct path_reading *r, uint32_t fn)
{
	struct path_sums *t = r->tree;
	const uint64_t key = ((uint64_t)r->image << 32 | fn) + 1;
	uint64_t row = number_map_get(&t->maps[FUNCTIONS], key);
	const struct trace_module *m = NULL;
	const struct trace_function *f;
	bool whole, known = true;
	char *name;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	f = trace_info_function(t->info, r->image, fn, &m);
	if (!f)
		return row_named(t, mem_strdup("[unknown]"), "", false);
	name = overloads_text(&r->overloads, m, f, &whole);
	row = row_named(t, name, trace_function_file(m, f, &known), f->name);
	number_map_set(&t->maps[FUNCTIONS], key, row);
	return (uint32_t)row;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* The node of a call of fn in `above`; `above` itself where the tree is full. Nodes are numbered in
 * the order of their first calls; a new one is put before its parent's other children, since order
 * matters only where they are printed. Nodes may move: no pointer to one outlives this. */
static uint32_t node_in(struct path_reading *r, uint32_t above, uint32_t fn)
{
	struct path_sums *t = r->tree;
	const uint32_t row = row_of(r, fn);
	const uint64_t key = ((uint64_t)above << 32 | row) + 1;
	const uint64_t old = number_map_get(&t->maps[CHILDREN], key);
	uint32_t node = (uint32_t)t->nodes.n;

	if (old != NUMBER_NONE)
		return (uint32_t)old;
	if (node >= PATH_MOST || t->nodes.at[above].depth >= PATH_DEPTH)
		return above;
	*vec_add(&t->nodes) = (struct path_node){ .row = row, .next = t->nodes.at[above].child,
						  .depth = t->nodes.at[above].depth + 1 };
	t->nodes.at[above].child = node;
	number_map_set(&t->maps[CHILDREN], key, node);
	return node;
}

/* Valid until another track is asked for. */
static path_stack *stack_of(struct path_reading *r, uint32_t track)
{
	while (r->stacks.n <= track)
		*vec_add(&r->stacks) = (path_stack){ 0 };
	return &r->stacks.at[track];
}

/* A call of a node that stands for its caller, too, is the caller's own time. `inside` is what its
 * calls took, also those that are folded into it: self and the nodes below add up to the total.
 * Recursion is not folded otherwise: f in f is a node below f. */
static void end_call(struct path_reading *r, const path_stack *stack, const struct call_step *s)
{
	const uint32_t number = stack->at[s->depth];
	const bool folded = number == (s->depth ? stack->at[s->depth - 1] : 0);
	struct path_node *node = &r->tree->nodes.at[number];

	node->self += s->tsc - s->begin - s->inside;
	r->tree->folded += folded;
	if (folded)
		return;
	node->calls++;
	node->total += s->tsc - s->begin;
}

/* A call whose time is not known. The node was found before: finding it may move all. */
static void count_only(struct path_reading *r, uint32_t node)
{
	r->tree->nodes.at[node].calls++;
}

/* The sink of a thread's calls. Depths that come without their begin are filled by nobody: a return
 * below the stack is passed over. Each stack has a list of its own: a coroutine's calls lie below
 * the root, not below whoever resumed it. */
static void take_step(void *arg, const struct call_step *s)
{
	struct path_reading *r = arg;
	path_stack *stack = stack_of(r, s->track);
	uint32_t above;

	r->coroutine |= s->track != 0;
	if (s->kind == CALL_LEAVE) {
		if (stack->n <= s->depth)
			return;
		end_call(r, stack, s);
		stack->n = s->depth;
		return;
	}
	if (s->kind != CALL_ENTER && s->kind != CALL_ONLY)
		return;
	if (stack->n > s->depth)
		stack->n = s->depth;
	above = stack->n ? stack->at[stack->n - 1] : 0;
	if (s->kind == CALL_ENTER)
		*vec_add(stack) = node_in(r, above, s->fn);
	else
		count_only(r, node_in(r, above, s->fn));
}

/* Stacks are emptied behind it: numbers of tracks are the thread's own. */
static int read_thread(struct path_reading *r, const struct summary_input *in, uint32_t thread,
		       struct event *events, struct err *err)
{
	int e;

	r->image = in->info->threads.at[thread].image;
	e = thread_calls_read(in, thread, events, take_step, r, err);
	for (size_t i = 0; i < r->stacks.n; i++)
		r->stacks.at[i].n = 0;
	return e;
}

/* Recursion beyond PATH_DEPTH, and nodes beyond PATH_MOST, are counted in `folded` and are no loss
 * of time. coroutines: as gathered_new() takes it. Threads are read one after another into one
 * tree, by one core. */
static int read_all(const struct summary_input *in, struct path_sums *t, bool *coroutines,
		    struct err *err)
{
	struct event *events = mem_realloc(NULL, THREAD_CALLS_EVENTS, sizeof(*events));
	struct path_reading r = { .tree = t };
	int e = 0;

	*t = (struct path_sums){ .info = in->info, .maps = mem_zalloc(MAPS * sizeof(*t->maps)) };
	*vec_add(&t->nodes) = (struct path_node){ 0 };
	for (uint32_t i = 0; i < in->info->threads.n && e >= 0; i++) {
		r.coroutine = false;
		e = read_thread(&r, in, i, events, err);
		coroutines[i] = r.coroutine;
	}
	for (size_t i = 0; i < r.stacks.n; i++)
		vec_free(&r.stacks.at[i]);
	vec_free(&r.stacks);
	overloads_free(&r.overloads);
	free(events);
	/* The root is no call: its total is the sum of its children's. */
	for (uint32_t i = t->nodes.at[0].child; i; i = t->nodes.at[i].next)
		t->nodes.at[0].total += t->nodes.at[i].total;
	return e;
}

/* On failure t is freed by path_sums_free(), too. Whether a thread's coroutines move is known only
 * behind the first reading, as in summary_make(): such a trace is read twice, all others once. */
int path_sums_make(const struct summary_input *in, struct path_sums *t, struct err *err)
{
	bool *coroutines = mem_zalloc(in->info->threads.n + 1);
	int e = read_all(in, t, coroutines, err);
	struct gathered *g = e < 0 ? NULL : gathered_new(in, coroutines);

	if (g) {
		const struct summary_input gathered = gathered_input(g);

		path_sums_free(t);
		e = read_all(&gathered, t, coroutines, err);
		gathered_free(g);
	}
	free(coroutines);
	return e;
}

void path_sums_free(struct path_sums *t)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		free(t->rows.at[i].name);
		free(t->rows.at[i].module);
	}
	for (size_t i = 0; t->maps && i < MAPS; i++)
		number_map_free(&t->maps[i]);
	free(t->maps);
	vec_free(&t->rows);
	vec_free(&t->nodes);
}

/* --- printing --------------------------------------------------------------------------------- */

/* A fixed order also for equal times, so that two runs print one tree. */
int path_sums_compare(const struct path_sums *t, uint32_t a, uint32_t b)
{
	const struct path_node *x = &t->nodes.at[a], *y = &t->nodes.at[b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return strcmp(t->rows.at[x->row].name, t->rows.at[y->row].name);
}

static int longest_first(const void *a, const void *b, void *arg)
{
	return path_sums_compare(arg, *(const uint32_t *)a, *(const uint32_t *)b);
}

typedef void path_line(const struct path_sums *t, const struct path_node *n, struct out *out);

/* Prints what a node calls, and what that calls; `left` lines at most. It calls itself as deep as
 * the tree is: PATH_DEPTH is its bound. Children are sorted where they are printed, because sums
 * are known then, and a limit leaves most nodes of a big tree unprinted. */
static void print_below(const struct path_sums *t, uint32_t above, size_t *left, path_line *line,
			struct out *out)
{
	VEC(uint32_t) children = { 0 };

	for (uint32_t i = t->nodes.at[above].child; i; i = t->nodes.at[i].next)
		*vec_add(&children) = i;
	if (children.n)
		qsort_r(children.at, children.n, sizeof(*children.at), longest_first, (void *)t);
	for (size_t i = 0; i < children.n && *left; i++) {
		--*left;
		line(t, &t->nodes.at[children.at[i]], out);
		print_below(t, children.at[i], left, line, out);
	}
	vec_free(&children);
}

/* Hundredths of a percent of all time. 128 bits: ten thousand times a long trace's ticks overflow
 * 64. */
static unsigned share_of(const struct path_sums *t, const struct path_node *n)
{
	const uint64_t all = t->nodes.at[0].total;

	return all ? (unsigned)((unsigned __int128)n->total * 10000 / all) : 0;
}

static void print_node(const struct path_sums *t, const struct path_node *n, struct out *out)
{
	const struct path_function *row = &t->rows.at[n->row];
	unsigned share = share_of(t, n);

	out_printf(out, "%*u.%02u", SHARE - 3, share / 100, share % 100);
	summary_print_time(out, trace_clock_delta_ns(&t->info->clock, n->total));
	summary_print_time(out, trace_clock_delta_ns(&t->info->clock, n->self));
	out_u64(out, n->calls, SUMMARY_COLUMN, ' ');
	out_spaces(out, 2 * n->depth);
	row_name_print(out, SHARE + 3 * SUMMARY_COLUMN + 2 * n->depth, row->name,
		       row->symbol ? row->module : NULL, false);
}

/* n counts lines, not functions: a deep path uses them up before the next one begins. */
void path_sums_print(const struct path_sums *t, size_t n, struct out *out)
{
	size_t left = n ? n : SIZE_MAX;

	losses_print(t->info, out);
	if (t->folded)
		out_printf(out, "# %" PRIu64 " calls are too deep: their time is their callers'\n",
			   t->folded);
	out_printf(out, "%*s%*s%*s%*s  FUNCTION\n", SHARE, "TOTAL%", SUMMARY_COLUMN, "TOTAL",
		   SUMMARY_COLUMN, "SELF", SUMMARY_COLUMN, "CALLS");
	print_below(t, 0, &left, print_node, out);
}

static void print_node_json(const struct path_sums *t, const struct path_node *n,
			    struct out *out)
{
	const struct path_function *row = &t->rows.at[n->row];
	unsigned share = share_of(t, n);

	out_printf(out, "{\"depth\":%u,\"name\":", n->depth - 1);
	json_string(out, row->name);
	out_str(out, ",\"module\":");
	json_string(out, row->module);
	out_printf(out,
		   ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"self_ns\":%" PRIu64
		   ",\"total_percent\":%u.%02u}\n",
		   n->calls, trace_clock_delta_ns(&t->info->clock, n->total),
		   trace_clock_delta_ns(&t->info->clock, n->self), share / 100, share % 100);
}

void path_sums_print_json(const struct path_sums *t, size_t n, struct out *out)
{
	size_t left = n ? n : SIZE_MAX;

	out_str(out, "{\"schema\":\"brace-tree\",\"version\":1");
	losses_print_json(t->info, out);
	out_printf(out, ",\"folded\":%" PRIu64 "}\n", t->folded);
	print_below(t, 0, &left, print_node_json, out);
}
