/* SPDX-License-Identifier: MIT */
/* The differential flame graph of `brace diff --flamegraph`: the later trace's stacks, each frame
 * coloured by how much more or less of its own time (or calls) it has than the same stack in the
 * earlier trace, which is Brendan Gregg's difffolded. What stacks had that are gone is told in
 * the picture's head. Called by ui, on its thread; two trees are in memory. */
#include "base/number_map.h"
#include "export/flamegraph.h"

#include <stdlib.h>
#include <string.h>


/* Numbers that equal names of both trees share. */
struct same_names { VEC(const char *) sorted; };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names stay the tree's, which outlives the numbers. */
static void add_names(struct same_names *n, const struct call_tree *t)
{
	for (size_t i = 0; i < t->walk.functions.n; i++)
		*vec_add(&n->sorted) = call_tree_function(t, (uint32_t)i);
	for (size_t i = 0; i < t->names.n; i++)
		*vec_add(&n->sorted) = t->names.at[i];
}

/* The first place of the name among the sorted ones: equal ones share it. */
static uint32_t number_of(const struct same_names *n, const char *name)
{
	return (uint32_t)vec_bisect(&n->sorted, item, strcmp(*item, name) < 0);
}

/* A frame's stack, in the later tree: its caller's node and its name. Threads' names stand apart
 * from functions' by their caller, which is 0. */
static uint64_t key_of(uint32_t parent, uint32_t name)
{
	return ((uint64_t)parent << 32 | name) + 1;
}

/* The later tree's nodes by key_of(). Parents stand before their children in both trees, so that
 * one pass from the roots suffices in match(). */
static struct number_map index_nodes(const struct call_tree *later, const struct same_names *names)
{
	struct number_map map = { 0 };

	for (uint32_t i = 1; i < later->nodes.n; i++) {
		uint64_t key = key_of(later->nodes.at[i].parent,
				      number_of(names, call_tree_name(later, i)));

		/* Two functions of one name: the first one takes what both had. */
		if (number_map_get(&map, key) == NUMBER_NONE)
			number_map_set(&map, key, i);
	}
	return map;
}

/* The node of the later tree for each of the earlier one; CALL_TREE_NONE: it is gone. */
static uint32_t *match(const struct call_tree *earlier, const struct call_tree *later)
{
	uint32_t *to = mem_zalloc(earlier->nodes.n * sizeof(*to));
	struct same_names names = { 0 };
	struct number_map map;

	add_names(&names, earlier);
	add_names(&names, later);
	if (names.sorted.n)
		qsort(names.sorted.at, names.sorted.n, sizeof(*names.sorted.at), by_text);
	map = index_nodes(later, &names);
	for (uint32_t i = 1; i < earlier->nodes.n; i++) { /* parents come first */
		uint32_t parent = to[earlier->nodes.at[i].parent];
		uint64_t row = NUMBER_NONE;

		uint32_t name = number_of(&names, call_tree_name(earlier, i));

		if (parent != CALL_TREE_NONE)
			row = number_map_get(&map, key_of(parent, name));
		to[i] = row == NUMBER_NONE ? CALL_TREE_NONE : (uint32_t)row;
	}
	number_map_free(&map);
	vec_free(&names.sorted);
	return to;
}

/* Adds the earlier tree's weights up by the later one's nodes. */
static void carry_over(const struct picture *earlier, const uint32_t *to, const struct picture *p,
		       struct picture_before *was)
{
	for (uint32_t i = 1; i < earlier->tree.nodes.n; i++) {
		uint64_t own =
			flamegraph_ns(earlier, flamegraph_own_weight(&earlier->tree, i));

		if (to[i] == CALL_TREE_NONE) {
			was->gone += own;
			continue;
		}
		was->own[to[i]] += own;
		was->all[to[i]] += flamegraph_ns(earlier, earlier->weight.at[i]);
	}
	for (uint32_t i = 1; i < p->tree.nodes.n; i++) {
		int64_t change = flamegraph_change(p, i);
		uint64_t size = (uint64_t)(change < 0 ? -change : change);

		was->most = size > was->most ? size : was->most;
	}
}

/* Lays both trees out, which sums their weights, and draws the later one. */
static void put_difference(struct picture *earlier, const char *name, struct picture *p)
{
	struct picture_before was = { .name = name };
	uint32_t *to = match(&earlier->tree, &p->tree);

	flamegraph_lay_out(earlier);
	flamegraph_lay_out(p);
	was.own = mem_zalloc(p->tree.nodes.n * sizeof(*was.own));
	was.all = mem_zalloc(p->tree.nodes.n * sizeof(*was.all));
	p->was = &was;
	carry_over(earlier, to, p, &was);
	flamegraph_put(p);
	free(was.own);
	free(was.all);
	free(to);
}

/* The picture is that of `later`; of `earlier` only the weights are looked up, for the colours. */
int flamegraph_write_difference(struct export_job *earlier, const char *name,
				struct export_job *later, struct err *err)
{
	struct picture a = { .out = later->out }, b = { .out = later->out };
	int r = call_tree_read(&a.tree, earlier, err);

	if (!r) {
		r = call_tree_read(&b.tree, later, err);
		if (!r)
			put_difference(&a, name, &b);
		flamegraph_free(&b);
	}
	flamegraph_free(&a);
	return r;
}
