/* SPDX-License-Identifier: MIT */
/* A flame graph while it is drawn, and one that shows how a second trace differs from a first. */
#pragma once
#include "export/call_tree.h"

/* The sizes of a picture's frames in an earlier trace, by node; ns, or calls. */
struct picture_before {
	const char *name;        /* the earlier trace's */
	uint64_t *own, *all;     /* the frame's own weight, and with all it called */
	uint64_t most;           /* the greatest change of an own weight */
	uint64_t gone;           /* own weight of stacks that the later trace does not have */
};

struct picture {
	struct call_tree tree;
	VEC(uint64_t) weight; /* by node: with all it called */
	VEC(double) x;
	VEC(uint32_t) depth;
	uint32_t deepest;
	uint64_t left_out;    /* frames */
	struct out *out;
	const struct picture_before *was; /* NULL: a flame graph of one trace */
};

/* Ticks, or calls. */
uint64_t flamegraph_own_weight(const struct call_tree *t, uint32_t i);
/* Makes the frames' places of p->tree, which has been read. */
void flamegraph_lay_out(struct picture *p);
/* Writes the picture. */
void flamegraph_put(struct picture *p);
/* Nanoseconds of a weight in ticks; calls stay calls. */
uint64_t flamegraph_ns(const struct picture *p, uint64_t weight);
/* The frame's own weight now, less that before. */
int64_t flamegraph_change(const struct picture *p, uint32_t i);
void flamegraph_free(struct picture *p);

/* Reads both traces and writes the later one's flame graph into its job->out, coloured by what has
 * changed since the earlier one, whose name is `name`. 0, or -errno and *err. */
int flamegraph_write_difference(struct export_job *earlier, const char *name,
				struct export_job *later, struct err *err);
