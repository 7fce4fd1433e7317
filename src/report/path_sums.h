/* SPDX-License-Identifier: MIT */
/* Calls added up by the functions that they lie in: `brace report --tree`. One thread makes it and
 * prints it. */
#pragma once
#include "report/summary.h"

/* Deeper calls, and calls of a new path when there are so many, are part of their callers. */
#define PATH_DEPTH 1000
#define PATH_MOST (2u << 20)

struct path_node {
	uint64_t calls, total, self; /* ticks */
	uint32_t row;                /* of rows */
	uint32_t child, next;        /* its first child, its parent's next one; 0: none */
	uint32_t depth;
};

struct path_function { char *name, *module; bool symbol; };

struct path_sums {
	const struct trace_info *info;
	VEC(struct path_node) nodes; /* number 0 stands above all */
	VEC(struct path_function) rows;   /* functions */
	struct number_map *maps;     /* private */
	uint64_t folded;             /* calls that are part of their callers */
};

/* Reads all of the input. 0, or -errno and *err; path_sums_free() frees it in any case. */
int path_sums_make(const struct summary_input *in, struct path_sums *t, struct err *err);
void path_sums_free(struct path_sums *t);
/* The order of nodes beside each other: the longest first, then the most calls, then by name. */
int path_sums_compare(const struct path_sums *t, uint32_t a, uint32_t b);
/* Prints at most n nodes (0: all), the longest first among those that one call contains: their
 * time, what part of all that is, what they spent themselves, and how many calls they stand for. */
void path_sums_print(const struct path_sums *t, size_t n, struct out *out);
/* Prints {"schema":"brace-tree","version":1,...}, then a node a line, each before those it
 * calls. */
void path_sums_print_json(const struct path_sums *t, size_t n, struct out *out);
