/* SPDX-License-Identifier: MIT */
/* Definitions of probes in the words of the source become lines of uprobe_events: places by
 * function and line, arguments by the names of variables. What runs in the program is what the
 * line says. */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "sym/source.h"

/* p[:NAME] PLACE [ARGUMENT]... or r[:NAME] ..., where PLACE is, in the file `path`,
 *   SYMBOL[+OFFSET]   FUNCTION@FILE[+OFFSET]   FUNCTION[@FILE]:LINE   FILE:LINE   OFFSET
 * each with %return or without. LINE counts from the function's own line, 0, or is one of the
 * file's; FILE is the end of its path. ARGUMENT is one of uprobe_events, or in it an expression of
 * C (sym_scope_fetch): [NAME=]EXPRESSION[:TYPE]; $params and $vars stand for all that can be
 * fetched. $arg1 to $arg6 are a function's whole numbers where it begins. */
struct source_definition {
	const char *text;         /* as written; columns count in it */
	const char *path;         /* the file */
	const char *place;        /* PLACE, a word of its own */
	size_t place_column;
	size_t head, arguments;   /* columns of the ends of the first word, and of PLACE */
	const char *value_type;   /* of $retval alone; NULL: as uprobe_events has it */
};

/* A span of the made line: where it came from. */
struct source_span { size_t made, from; bool same; };
struct source_line {
	char *line;
	VEC(struct source_span) spans;
};
/* One line for each place: a source line, or an inlined function, may have several, whose events
 * are NAME, NAME_1, NAME_2, ... */
typedef VEC(struct source_line) source_lines;
/* Appends the lines to *out; their texts are the caller's to free. 0, or -errno and *err,
 * which points into the definition. */
int source_probe_lines(const struct source_definition *d, source_lines *out, struct err *err);
void source_lines_free(source_lines *l);
/* Translates a column of the made line into one of the text. */
size_t source_line_column(const struct source_line *l, size_t column);

/* Translates a whole line of uprobe_events whose place is PATH:PLACE, by source_probe_lines().
 * Returns the number of lines; 0: the line is the kernel's own, and stays as it is; or -errno and
 * *err. */
int source_probe_line(const char *line, source_lines *out, struct err *err);

/* Finds PLACE's addresses, without %return. 0, or -errno and *err with the column in `place`. */
struct source_place { uint64_t vaddr; char name[80]; };
typedef VEC(struct source_place) source_places;
int source_probe_find(const struct sym_module *m, const char *place, source_places *out,
		      struct err *err);
