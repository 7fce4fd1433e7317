/* SPDX-License-Identifier: MIT */
/* A screen's contents before any terminal sees them: characters with a look each. Screens draw into
 * a grid, so that a test reads what they draw; ui/terminal.c copies it to the terminal. Text goes
 * in by grid_text() and its kin alone, which escape what a terminal might obey (base/escape.h). Not
 * locked: one thread draws. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum grid_look {
	GRID_PLAIN, GRID_BOLD, GRID_DIM,
	GRID_BAR,           /* titles and the last line: reversed */
	GRID_CHOSEN,        /* the row that keys are about: reversed, bold */
	GRID_WARNING,
	/* boxes of flame graph and timeline; their order says nothing. Without colours they differ
	 * by attributes */
	GRID_BOX,
	GRID_BOXES = 6,
	GRID_LOOKS_N = GRID_BOX + GRID_BOXES,
};

/* code 0: the right half of the wide character on its left. */
struct grid_cell { uint32_t code; uint8_t look; };

struct grid {
	unsigned rows, columns;
	struct grid_cell *at;    /* rows * columns */
	bool ascii;              /* the terminal shows nothing else: other characters are escaped */
};

/* Makes it this large (1 at least) and empty. Zeroed is a grid without cells. */
void grid_resize(struct grid *g, unsigned rows, unsigned columns);
void grid_free(struct grid *g);

/* Writes text from `column` on, in at most `width` columns, and returns how many it took. What lies
 * outside of the grid is dropped. */
unsigned grid_text(struct grid *g, unsigned row, unsigned column, unsigned width,
		   enum grid_look look, const char *text);
/* grid_text() of a name, which is cut in its middle ("std::ma..push_back") where it is too long. */
unsigned grid_name(struct grid *g, unsigned row, unsigned column, unsigned width,
		   enum grid_look look, const char *name);
/* grid_name() of "name [file]", of which the file is cut first: so the name is whole where it can
 * be. file "": the name alone. */
unsigned grid_label(struct grid *g, unsigned row, unsigned column, unsigned width,
		    enum grid_look look, const char *name, const char *file);
/* grid_text() at the right end of the columns. */
void grid_right(struct grid *g, unsigned row, unsigned column, unsigned width, enum grid_look look,
		const char *text);
/* Gives the columns this look and leaves their characters. */
void grid_paint(struct grid *g, unsigned row, unsigned column, unsigned width, enum grid_look look);
/* (tests) The row as UTF-8, without blanks at its end; free() it. */
char *grid_line(const struct grid *g, unsigned row);
