/* SPDX-License-Identifier: MIT */
/* Colour for terminals, put on finished lines: what reports print stays byte for byte the same
 * with it and without. */
#pragma once
#include "base/vec.h"
#include "base/out.h"

/* Writes one line (n bytes, without its newline) with colour. */
typedef void painter(struct out *to, const char *line, size_t n);

painter paint_graph; /* function_graph and function output: long durations, comments, headers */
painter paint_table; /* first line of a report */
painter paint_list;  /* what is not hooked, and why */

/* Bytes come in any pieces; a line is painted when it is whole. */
struct paint {
	painter *line;
	struct out *to;
	VEC(char) rest;
};

void paint_bytes(struct paint *p, const char *bytes, size_t n);
/* The last line, if it has no newline; frees. */
void paint_end(struct paint *p);
