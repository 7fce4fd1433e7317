/* SPDX-License-Identifier: MIT */
/* Colour for terminals, put on finished lines: reports print the same bytes with and without it. */
#pragma once
#include "base/vec.h"
#include "base/out.h"

/* Writes one line (n bytes, without its newline) with colour. */
typedef void painter(struct out *to, const char *line, size_t n);

painter paint_graph; /* function_graph and function output: long durations, comments, headers */
painter paint_table; /* first line of a report */
painter paint_list;  /* functions that are not hooked, and why */

/* A stream of bytes, in pieces of any size; each line is painted when it is whole. */
struct paint {
	painter *line;
	struct out *to;
	VEC(char) rest;
};

/* Takes n more bytes; paints the lines that they complete. */
void paint_bytes(struct paint *p, const char *bytes, size_t n);
/* Paints the last line, if it has no newline; frees. */
void paint_end(struct paint *p);
