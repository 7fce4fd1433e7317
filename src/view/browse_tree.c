/* SPDX-License-Identifier: MIT */
/* The screen of calls in calls, as `brace report --tree` prints them: folded, until a user unfolds
 * a path. browse.c calls it by its row, on the thread that draws; nothing fails. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/browse.h"

#define UNFOLD_MOST 100000u /* lines that `*` makes */

/* Node 0 is the whole; it has no line. */
static const struct path_node *node_at(const struct browse *b, uint32_t node)
{
	return &b->paths.nodes.at[node];
}

/* Adds the lines below a node, the longest first; UNFOLD_MOST lines at most. */
static void show_below(struct browse *b, uint32_t above)
{
	browse_nodes children = browse_children(b, above);

	for (size_t i = 0; i < children.n && b->tree.shown.n < UNFOLD_MOST; i++) {
		*vec_add(&b->tree.shown) = children.at[i];
		if (b->tree.open[children.at[i]])
			show_below(b, children.at[i]);
	}
	vec_free(&children);
}

/* Makes the lines anew after folding; the bar stays at `chosen`, if that has a line. */
static void show_again(struct browse *b, uint32_t chosen)
{
	b->tree.shown.n = 0;
	show_below(b, 0);
	for (size_t i = 0; i < b->tree.shown.n; i++)
		if (b->tree.shown.at[i] == chosen)
			b->tree.chosen = i;
	if (b->tree.chosen >= b->tree.shown.n)
		b->tree.chosen = b->tree.shown.n ? b->tree.shown.n - 1 : 0;
}

/* The node under the bar; 0: there are no lines. */
static uint32_t chosen_node(const struct browse *b)
{
	return b->tree.chosen < b->tree.shown.n ? b->tree.shown.at[b->tree.chosen] : 0;
}

/* The function under the bar is the chosen one on all screens. */
static void choose_function(struct browse *b)
{
	const struct path_function *f;

	if (!chosen_node(b))
		return;
	f = &b->paths.rows.at[node_at(b, chosen_node(b))->row];
	browse_choose(b, f->name, f->module);
}

/* The first time everything is folded but the outermost calls. open: a byte for each node. */
static void enter_tree(struct browse *b)
{
	if (b->tree.open)
		return;
	b->tree.open = mem_zalloc(b->paths.nodes.n);
	show_again(b, 0);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Figures, then the function, indented by two columns a depth up to half of the screen. */
static void draw_node(const struct browse *b, struct grid *g, unsigned row, uint32_t node)
{
	const struct path_node *n = node_at(b, node);
	const struct path_function *f = &b->paths.rows.at[n->row];
	unsigned in = 45 + (2 * (n->depth - 1) < g->columns / 2 ? 2 * (n->depth - 1)
							     : g->columns / 2);
	char text[TABLE_TEXT], *label = browse_label(f->name, f->symbol ? f->module : "");

	table_share(text, browse_share(n->total, node_at(b, 0)->total));
	grid_right(g, row, 0, 7, GRID_PLAIN, text);
	table_time(text, browse_ns(b, n->total));
	grid_right(g, row, 7, 12, GRID_PLAIN, text);
	table_time(text, browse_ns(b, n->self));
	grid_right(g, row, 19, 12, GRID_PLAIN, text);
	table_count(text, n->calls);
	grid_right(g, row, 31, 11, GRID_PLAIN, text);
	grid_text(g, row, in - 1, 1, GRID_BOLD, !n->child ? " " : b->tree.open[node] ? "-" : "+");
	if (in + 1 < g->columns)
		grid_name(g, row, in + 1, g->columns - in - 1, GRID_PLAIN, label);
	free(label);
}

/* The lines that fit, moved so that the bar is among them. */
static void draw_tree(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	grid_paint(g, top, 0, g->columns, GRID_BAR);
	grid_text(g, top, 0, g->columns, GRID_BAR,
		  " TOTAL%       TOTAL        SELF      CALLS   FUNCTION");
	b->tree.height = height - 1;
	if (b->tree.chosen < b->tree.first)
		b->tree.first = b->tree.chosen;
	if (b->tree.chosen >= b->tree.first + b->tree.height)
		b->tree.first = b->tree.chosen - b->tree.height + 1;
	for (unsigned i = 0; i < b->tree.height && b->tree.first + i < b->tree.shown.n; i++) {
		draw_node(b, g, top + 1 + i, b->tree.shown.at[b->tree.first + i]);
		if (b->tree.first + i == b->tree.chosen)
			grid_paint(g, top + 1 + i, 0, g->columns, GRID_CHOSEN);
	}
	if (b->paths.folded)
		browse_say(b, "%" PRIu64 " calls are too deep: their time is their callers'",
			   b->paths.folded);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The line of the node that holds the chosen one. */
static uint32_t above_chosen(const struct browse *b)
{
	size_t i = b->tree.chosen;
	const uint32_t depth = node_at(b, chosen_node(b))->depth;

	while (i && node_at(b, b->tree.shown.at[i])->depth >= depth)
		i--;
	return node_at(b, b->tree.shown.at[i])->depth < depth ? b->tree.shown.at[i]
							      : chosen_node(b);
}

/* The node and what it calls, breadth first, as far as lines are left. */
static void unfold_all(struct browse *b, uint32_t node)
{
	VEC(uint32_t) queue = { 0 };

	*vec_add(&queue) = node;
	for (size_t i = 0; i < queue.n && queue.n < UNFOLD_MOST; i++) {
		b->tree.open[queue.at[i]] = 1;
		for (uint32_t k = node_at(b, queue.at[i])->child; k; k = node_at(b, k)->next)
			*vec_add(&queue) = k;
	}
	vec_free(&queue);
}

/* Left folds, and on what is folded goes to its caller. False: not a key of folding. */
static bool fold_line(struct browse *b, unsigned key)
{
	uint32_t node = chosen_node(b), to = node;

	if (key == '*')
		unfold_all(b, node);
	else if (key == VIEW_RIGHT || key == '+')
		b->tree.open[node] = 1;
	else if (key == VIEW_ENTER || key == ' ')
		b->tree.open[node] ^= 1;
	else if (key != VIEW_LEFT && key != '-')
		return false;
	else if (b->tree.open[node] && node_at(b, node)->child)
		b->tree.open[node] = 0;
	else
		to = above_chosen(b);
	show_again(b, to);
	return true;
}

/* A click chooses; arrows move; other keys fold. */
static bool press_tree(struct browse *b, const struct view_event *e)
{
	size_t clicked = b->tree.first + e->row - 2;

	if (e->key == VIEW_CLICK && e->row >= 2 && clicked < b->tree.shown.n)
		b->tree.chosen = clicked;
	else if (!table_move(&b->tree.chosen, b->tree.shown.n, b->tree.height, e->key) &&
		 !(chosen_node(b) && fold_line(b, e->key)))
		return false;
	choose_function(b);
	return true;
}

/* Searches what is folded, too: unfolds the way to it. Nodes come before those they call, so the
 * way up is found by one look at each. */
static void show_way(struct browse *b, uint32_t node)
{
	uint32_t *above = mem_realloc(NULL, b->paths.nodes.n, sizeof(*above));

	for (uint32_t i = 0; i < b->paths.nodes.n; i++)
		for (uint32_t k = node_at(b, i)->child; k; k = node_at(b, k)->next)
			above[k] = i;
	for (uint32_t i = node; i; i = above[i])
		if (i != node)
			b->tree.open[i] = 1;
	free(above);
	show_again(b, node);
}

/* The next node, in the order of the nodes, whose name matches: round once. */
static bool search_tree(struct browse *b, const char *text)
{
	const size_t n = b->paths.nodes.n;

	for (size_t k = 1; k <= n; k++) {
		uint32_t i = (uint32_t)((chosen_node(b) + k) % n);
		const struct path_function *f;

		if (!i)
			continue;
		f = &b->paths.rows.at[node_at(b, i)->row];
		if (!table_matches(f->name, text))
			continue;
		show_way(b, i);
		choose_function(b);
		return true;
	}
	return false;
}

static const char *const tree_help[] = {
	"Right +  unfold     Left -  fold, then the caller     Enter  either",
	"*     unfold all below the bar",
	"TOTAL% is the part of all time.", NULL
};

const struct browse_screen browse_tree = {
	'2', "tree", BROWSE_PATHS, true, enter_tree, draw_tree, press_tree, search_tree, tree_help
};
