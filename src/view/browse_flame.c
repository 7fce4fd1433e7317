/* SPDX-License-Identifier: MIT */
/* The flame graph: each call path a box as wide as its part of the time, below the box of its
 * caller. One box is chosen; Enter makes it the whole width. browse.c calls it by its row, on the
 * thread that draws; nothing fails. */
#include <inttypes.h>
#include <stdio.h>

#include "view/browse.h"

/* Node 0 is the whole, above all calls. */
static const struct path_node *node_at(const struct browse *b, uint32_t node)
{
	return &b->paths.nodes.at[node];
}

/* Not for node 0, which is no function's. */
static const struct path_function *function_at(const struct browse *b, uint32_t node)
{
	return &b->paths.rows.at[node_at(b, node)->row];
}

/* The child that is drawn first; 0: the node calls nothing. */
static uint32_t longest_child(const struct browse *b, uint32_t node)
{
	uint32_t best = 0;

	for (uint32_t i = node_at(b, node)->child; i; i = node_at(b, i)->next)
		if (!best || path_sums_compare(&b->paths, i, best) < 0)
			best = i;
	return best;
}

/* The caller's node; a look at all that are called from the base. UINT32_MAX: none. Nodes have no
 * way up; this is asked once a key, not once a box. */
static uint32_t caller_of(const struct browse *b, uint32_t node)
{
	for (uint32_t i = 0; i < b->paths.nodes.n && node; i++)
		for (uint32_t k = node_at(b, i)->child; k; k = node_at(b, k)->next)
			if (k == node)
				return i;
	return UINT32_MAX;
}

/* --- drawing ---------------------------------------------------------------------------------- */

struct flame_box { uint32_t node; unsigned row, from, to; };

/* A box of one or two columns has no name: it could not be read. */
static void draw_box(const struct browse *b, struct grid *g, const struct flame_box *box)
{
	const struct path_function *f = function_at(b, box->node);
	enum grid_look look = box->node == b->flame.chosen ? GRID_CHOSEN : browse_look(f->name);

	grid_paint(g, box->row, box->from, box->to - box->from, look);
	if (box->to - box->from > 2)
		grid_name(g, box->row, box->from + (box->to - box->from > 6),
			  box->to - box->from - 1, look, f->name);
}

/* The boxes of what a box calls; those narrower than a column are left out. Places follow from the
 * sums so far, not from each width, so that roundings do not add up. A child cannot end behind its
 * caller, even where times of a damaged file say so. `to` is the list of draw_flame(), which may
 * move: box is a copy there. */
static void add_boxes(const struct browse *b, const struct flame_box *box, unsigned bottom,
		      void *to)
{
	typedef VEC(struct flame_box) boxes;
	const uint64_t total = node_at(b, box->node)->total, columns = box->to - box->from;
	browse_nodes all = browse_children(b, box->node);
	uint64_t before = 0;

	for (size_t i = 0; i < all.n && total && box->row < bottom; i++) {
		uint64_t upto = before + node_at(b, all.at[i])->total;
		struct flame_box one = { all.at[i], box->row + 1, 0, 0 };

		upto = upto < total ? upto : total;
		one.from = box->from + (unsigned)((unsigned __int128)before * columns / total);
		one.to = box->from + (unsigned)((unsigned __int128)upto * columns / total);
		before = upto;
		if (one.to > one.from)
			*vec_add((boxes *)to) = one;
	}
	vec_free(&all);
}

/* The line above the picture: figures and full name of the chosen box. Nothing is chosen in a
 * trace without calls. */
static void draw_chosen(const struct browse *b, struct grid *g, unsigned row)
{
	const uint32_t node = b->flame.chosen;
	char total[TABLE_TEXT], self[TABLE_TEXT], share[TABLE_TEXT], *label, *text;

	if (!node)
		return;
	label = browse_label(function_at(b, node)->name, function_at(b, node)->module);
	table_time(total, browse_ns(b, node_at(b, node)->total));
	table_time(self, browse_ns(b, node_at(b, node)->self));
	table_share(share, browse_share(node_at(b, node)->total, node_at(b, 0)->total));
	text = mem_printf("%s %%, %s, self %s, %" PRIu64 " calls: %s", share, total, self,
			  node_at(b, node)->calls, label);
	grid_name(g, row, 0, g->columns, GRID_BOLD, text);
	free(text);
	free(label);
}

/* Breadth first: boxes wait in a list, each adds those below it. The whole has a row of its own. */
static void draw_flame(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	VEC(struct flame_box) boxes = { 0 };

	draw_chosen(b, g, top);
	*vec_add(&boxes) = (struct flame_box){ b->flame.base, top + 1, 0, g->columns };
	for (size_t i = 0; i < boxes.n; i++) {
		struct flame_box box = boxes.at[i];

		if (box.node)
			draw_box(b, g, &box);
		else
			grid_text(g, box.row, 0, g->columns, GRID_DIM, "all");
		add_boxes(b, &box, top + height - 1, &boxes);
	}
	vec_free(&boxes);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* 0 and UINT32_MAX are no boxes: the choice stays. */
static void choose_box(struct browse *b, uint32_t node)
{
	if (!node || node == UINT32_MAX)
		return;
	b->flame.chosen = node;
	browse_choose(b, function_at(b, node)->name, function_at(b, node)->module);
}

/* The first time the longest path's first function is chosen, so that arrows have a beginning. */
static void enter_flame(struct browse *b)
{
	if (!b->flame.chosen)
		b->flame.chosen = longest_child(b, 0);
}

/* The box beside it, of the same caller. */
static void choose_beside(struct browse *b, bool left)
{
	uint32_t caller = caller_of(b, b->flame.chosen);
	browse_nodes all = { 0 };

	if (caller == UINT32_MAX)
		return;
	all = browse_children(b, caller);
	for (size_t i = 0; i < all.n; i++) {
		if (all.at[i] != b->flame.chosen)
			continue;
		if (left ? i > 0 : i + 1 < all.n)
			choose_box(b, all.at[left ? i - 1 : i + 1]);
		break;
	}
	vec_free(&all);
}

/* Keys of the picture. Up stops at the box that has the whole width. */
static bool press_flame(struct browse *b, const struct view_event *e)
{
	uint32_t up;

	switch (e->key) {
	case VIEW_UP: case 'k':
		choose_box(b, b->flame.chosen == b->flame.base ? 0 : caller_of(b, b->flame.chosen));
		return true;
	case VIEW_DOWN: case 'j':
		choose_box(b, longest_child(b, b->flame.chosen));
		return true;
	case VIEW_LEFT: case VIEW_RIGHT:
		choose_beside(b, e->key == VIEW_LEFT);
		return true;
	case VIEW_ENTER: case '+':
		b->flame.base = b->flame.chosen;
		return true;
	case VIEW_ESCAPE: case '-': case 'u':
		up = caller_of(b, b->flame.base);
		b->flame.base = up == UINT32_MAX ? 0 : up;
		return true;
	case '0':
		b->flame.base = 0;
		return true;
	default:
		return false;
	}
}

/* The next box, in the order of the nodes, whose name matches. */
static bool search_flame(struct browse *b, const char *text)
{
	const size_t n = b->paths.nodes.n;

	for (size_t k = 1; k <= n; k++) {
		uint32_t i = (uint32_t)((b->flame.chosen + k) % n);

		if (!i || !table_matches(function_at(b, i)->name, text))
			continue;
		b->flame.base = 0;
		choose_box(b, i);
		return true;
	}
	return false;
}

static const char *const flame_help[] = {
	"Up Down Left Right   the caller, the longest callee, boxes beside",
	"Enter +   the chosen box takes the whole width",
	"- u Escape   one caller wider     0   everything", NULL
};

const struct browse_screen browse_flame = {
	'4', "flame", BROWSE_PATHS, true, enter_flame, draw_flame, press_flame, search_flame,
	flame_help
};
