/* SPDX-License-Identifier: MIT */
/* The screen of the chosen function's callers and callees: two tables, made of the tree of calls. A
 * row's time counts once, however many calls of the same row it lies in, as in `brace report
 * --callers`.
 * browse.c calls it by its row, on the thread that draws; nothing fails. */
#include <stdio.h>
#include <string.h>

#include "view/browse.h"

enum { EDGE_CALLS, EDGE_TOTAL, EDGE_SELF, EDGE_SHARE, EDGES_N };

static const struct table_column columns[EDGES_N] = {
	[EDGE_CALLS] = { "CALLS", 11 }, [EDGE_TOTAL] = { "TOTAL", 12 },
	[EDGE_SELF] = { "SELF", 12 }, [EDGE_SHARE] = { "TOTAL%", 8 },
};

/* By which the table sorts; the share sorts as the total that it is of. */
static uint64_t number_at(const void *of, size_t row, unsigned column)
{
	const struct browse_edges *edges = of;
	const struct browse_edge *e = &edges->at.at[row];

	if (column == EDGE_CALLS)
		return e->calls;
	return browse_ns(edges->b, column == EDGE_SELF ? e->self : e->total);
}

/* The share is of all time of the trace, as in the tree. */
static void text_at(const void *of, size_t row, unsigned column, char to[TABLE_TEXT])
{
	const struct browse_edges *edges = of;
	uint64_t n = number_at(of, row, column);

	if (column == EDGE_CALLS)
		table_count(to, n);
	else if (column == EDGE_SHARE)
		table_share(to, browse_share(edges->at.at[row].total,
					     edges->b->paths.nodes.at[0].total));
	else
		table_time(to, n);
}

/* Row UINT32_MAX: a call that no recorded call contains. */
static const char *name_at(const void *of, size_t row)
{
	const struct browse_edges *edges = of;
	uint32_t function = edges->at.at[row].row;

	return function == UINT32_MAX ? "(no traced function)"
				      : edges->b->paths.rows.at[function].name;
}

/* The file that stands in brackets; "": none. */
static const char *file_at(const void *of, size_t row)
{
	const struct browse_edges *edges = of;
	uint32_t function = edges->at.at[row].row;

	return function == UINT32_MAX ? "" : edges->b->paths.rows.at[function].module;
}

static const struct table_rows caller_rows = { columns, EDGES_N, "CALLER", number_at, text_at,
					       name_at, file_at };
static const struct table_rows callee_rows = { columns, EDGES_N, "CALLEE", number_at, text_at,
					       name_at, file_at };

/* --- adding up -------------------------------------------------------------------------------- */

struct adding {
	struct browse *b;
	uint32_t of;                 /* the chosen function */
	VEC(uint32_t) path;          /* nodes from the root down */
};

/* The row of one caller or callee, made at the first call; a list is short here. */
static struct browse_edge *edge_of(struct browse_edges *edges, uint32_t row)
{
	for (size_t i = 0; i < edges->at.n; i++)
		if (edges->at.at[i].row == row)
			return &edges->at.at[i];
	*vec_add(&edges->at) = (struct browse_edge){ .row = row };
	return &edges->at.at[edges->at.n - 1];
}

/* The function at a depth of the path that is being added; depth 0 is the whole, no function. */
static uint32_t row_at(const struct adding *a, size_t depth)
{
	uint32_t node = a->path.at[depth];

	return node ? a->b->paths.nodes.at[node].row : UINT32_MAX;
}

/* Whether the same edge stands further up: its time has this one's. The last node of the path is
 * the edge itself, and is not asked. */
static bool is_inside(const struct adding *a, uint32_t caller, uint32_t callee)
{
	for (size_t i = 1; i + 1 < a->path.n; i++)
		if (row_at(a, i - 1) == caller && row_at(a, i) == callee)
			return true;
	return false;
}

/* inside: the time is part of that of the same edge further up. */
static void add_edge(const struct adding *a, struct browse_edges *edges, uint32_t row,
		     const struct path_node *n, bool inside)
{
	struct browse_edge *e = edge_of(edges, row);

	e->calls += n->calls;
	e->self += n->self;
	e->total += inside ? 0 : n->total;
}

/* The time of a caller's row: once for all calls of the function from it. Of callees: once for the
 * callee's row, in whichever call of the function. */
static void add_node(const struct adding *a)
{
	const size_t at = a->path.n - 1;
	const struct path_node *n = &a->b->paths.nodes.at[a->path.at[at]];
	const uint32_t caller = row_at(a, at - 1);

	if (n->row == a->of)
		add_edge(a, &a->b->callers, caller, n, is_inside(a, caller, n->row));
	if (caller == a->of)
		add_edge(a, &a->b->callees, n->row, n, is_inside(a, caller, n->row));
}

/* Down to the first child, else to the next one of the nearest node above that has one. Without
 * recursion: a trace decides how deep the tree is. False: all nodes have been met. */
static bool next_path(struct adding *a)
{
	const struct path_node *nodes = a->b->paths.nodes.at;
	uint32_t next = nodes[a->path.at[a->path.n - 1]].child;

	while (!next && a->path.n > 1)
		next = nodes[a->path.at[--a->path.n]].next;
	if (!next)
		return false;
	*vec_add(&a->path) = next;
	return true;
}

/* When another function is chosen: its callers and callees are sums over all paths on which it
 * stands. The tables keep their columns and order from one function to the next; the bar goes to
 * the top. */
void browse_edges_update(struct browse *b)
{
	struct adding a = { .b = b, .of = browse_path_row(b) };

	b->callers.at.n = b->callees.at.n = 0;
	*vec_add(&a.path) = 0;
	while (a.of != UINT32_MAX && next_path(&a))
		add_node(&a);
	vec_free(&a.path);
	if (!b->caller_table.rows) {
		table_init(&b->caller_table, &caller_rows, &b->callers, EDGE_TOTAL);
		table_init(&b->callee_table, &callee_rows, &b->callees, EDGE_TOTAL);
	}
	b->caller_table.chosen = b->callee_table.chosen = 0;
	table_update(&b->caller_table, b->callers.at.n);
	table_update(&b->callee_table, b->callees.at.n);
}

/* --- the screen ------------------------------------------------------------------------------- */

/* Callers above, callees below, the function between them in a bar. The bar of the table that has
 * no keys is painted over, since table_draw() gives each its own. */
static void draw_edges(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	char *label = b->chosen.name ? browse_label(b->chosen.name, b->chosen.module)
				     : mem_strdup("no function is chosen");
	unsigned half = (height - 1) / 2;

	if (half > 1)
		table_draw(&b->caller_table, g, top, half);
	grid_paint(g, top + half, 0, g->columns, GRID_BAR);
	grid_name(g, top + half, 2, g->columns - 2, GRID_CHOSEN, label);
	free(label);
	if (height > half + 2)
		table_draw(&b->callee_table, g, top + half + 1, height - half - 1);
	/* Only one of the two has a bar. */
	for (unsigned row = 0; row < height; row++)
		if ((row < half) == b->in_callees && row != half)
			for (unsigned c = 0; c < g->columns && top + row < g->rows; c++) {
				struct grid_cell *cell = &g->at[(top + row) * g->columns + c];

				if (cell->look == GRID_CHOSEN)
					cell->look = GRID_PLAIN;
			}
}

/* Enter makes the row's function the chosen one, and shows its own callers and callees. */
static bool press_edges(struct browse *b, const struct view_event *e)
{
	struct table_view *t = b->in_callees ? &b->callee_table : &b->caller_table;
	const struct browse_edges *edges = b->in_callees ? &b->callees : &b->callers;
	uint32_t row = table_chosen(t), function;
	bool sorted;

	if (e->key == 'c') {
		b->in_callees = !b->in_callees;
	} else if (e->key == VIEW_ENTER && row != UINT32_MAX) {
		function = edges->at.at[row].row;
		if (function != UINT32_MAX)
			browse_follow(b, b->paths.rows.at[function].name,
				      b->paths.rows.at[function].module);
		browse_edges_update(b);
	} else if (!table_key(t, e, &sorted)) {
		return false;
	} else if (sorted) {
		table_update(t, edges->at.n);
	}
	return true;
}

/* Searches the table that has the bar. */
static bool search_edges(struct browse *b, const char *text)
{
	return table_search(b->in_callees ? &b->callee_table : &b->caller_table, text);
}

static const char *const edges_help[] = {
	"c     from the callers to the callees, and back",
	"Enter look at the caller or callee under the bar; b: back",
	"< >   sort by another column       r   turn the order around",
	"TOTAL% is the part of all time; recursion counts once.", NULL
};

const struct browse_screen browse_edges = {
	'3', "callers", BROWSE_PATHS, true, browse_edges_update, draw_edges, press_edges,
	search_edges, edges_help
};
