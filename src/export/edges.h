/* SPDX-License-Identifier: MIT */
/* Calls added up by caller and callee. Threads' names are callers, too: of the outermost calls.
 * Private to src/export. */
#pragma once
#include "export/exporter.h"

struct edge {
	uint32_t caller, callee;  /* nodes */
	uint64_t calls, ticks;    /* ticks: with what the callee called; of direct recursion 0 */
};

/* A function of walk.functions, or a thread's name. */
struct edge_node { uint32_t function; char *thread; uint64_t calls, self; };
#define EDGE_NO_FUNCTION UINT32_MAX

struct edges {
	struct walk walk;
	VEC(struct edge) edges;      /* sorted by caller, when they are read */
	VEC(struct edge_node) nodes;
	VEC(uint32_t) of_function;   /* 1 + node; 0: none yet */
	VEC(uint32_t) of_lane;
	struct number_map rows;      /* caller << 32 | callee, + 1 -> edge */
};

/* Reads the job's source into *e, which edges_free() frees in any case. 0, or -errno and *err. */
int edges_read(struct edges *e, struct export_job *job, struct err *err);
void edges_free(struct edges *e);
/* The node's name, and the file it is of, or NULL; both the edges' own. */
const char *edges_name(const struct edges *e, uint32_t node, const char **file);
