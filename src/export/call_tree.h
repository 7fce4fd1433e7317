/* SPDX-License-Identifier: MIT */
/* Calls added up by the stack of functions that they were made from. Private to src/export. */
#pragma once
#include "export/exporter.h"

/* Deeper calls, and calls of a new stack when there are so many, are added to their callers. */
#define CALL_TREE_DEPTH 2000
#define CALL_TREE_MOST (2u << 20)
#define CALL_TREE_NONE UINT32_MAX

struct call_node {
	uint64_t calls, self, total; /* times in ticks */
	uint32_t parent;             /* 0: a root, one for each name of threads */
	uint32_t function;           /* of walk->functions; of a root its number among names */
	uint32_t child, next;        /* its latest child, its parent's next one; 0: none */
};

struct call_tree {
	struct walk walk;
	VEC(struct call_node) nodes; /* number 0 stands above the roots; parents come first */
	VEC(char *) names;           /* of roots: names of threads */
	VEC(char *) kernel_names;    /* by function: the kernel's have a mark; NULL: others */
	VEC(uint32_t) root_of;       /* by lane; 0: not known yet */
	struct number_map children;  /* node << 32 | function, + 1 -> node */
	struct export_job *job;
};

/* Reads the job's source into *t, which call_tree_free() frees in any case. 0, or -errno and
 * *err. */
int call_tree_read(struct call_tree *t, struct export_job *job, struct err *err);
void call_tree_free(struct call_tree *t);
/* Return a function's name, and a node's; the tree's own. */
const char *call_tree_function(const struct call_tree *t, uint32_t function);
const char *call_tree_name(const struct call_tree *t, uint32_t node);
/* Whether the node is a function of the kernel's part of a trace of both. */
bool call_tree_is_kernel(const struct call_tree *t, uint32_t node);
/* The node's own weight: nanoseconds, or calls. */
uint64_t call_tree_weight(const struct call_tree *t, uint32_t node);
