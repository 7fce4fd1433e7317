/* SPDX-License-Identifier: MIT */
/* Called by screens while they draw, and by the terminal, on the only thread that knows the grid.
 * Widths of characters are those of the locale (wcwidth): one that takes no column, or that the
 * locale does not know, is escaped like a control character. Nothing fails. */
#include "view/grid.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"

#define CELLS_MOST 4096u /* rows, or columns: no terminal has more */

typedef VEC(struct grid_cell) grid_cells;

/* At most CELLS_MOST each way: a terminal may claim any size. */
void grid_resize(struct grid *g, unsigned rows, unsigned columns)
{
	g->rows = rows < 1 ? 1 : rows < CELLS_MOST ? rows : CELLS_MOST;
	g->columns = columns < 1 ? 1 : columns < CELLS_MOST ? columns : CELLS_MOST;
	/* Screens draw on blanks: what is behind a short text is not left from before. */
	g->at = mem_realloc(g->at, (size_t)g->rows * g->columns, sizeof(*g->at));
	for (size_t i = 0; i < (size_t)g->rows * g->columns; i++)
		g->at[i] = (struct grid_cell){ ' ', GRID_PLAIN };
}

void grid_free(struct grid *g)
{
	free(g->at);
	*g = (struct grid){ 0 };
}

/* Columns that the character takes; 0: it must be escaped. */
static unsigned width_of(const struct grid *g, uint32_t code)
{
	int width;

	if (!escape_is_printable(code) || (code > 0x7e && g->ascii))
		return 0;
	width = code < 0x7f ? 1 : wcwidth((wchar_t)code);
	return width > 0 ? (unsigned)width : 0;
}

/* One byte as base/escape.h shows it in texts: "\x1b". */
static void add_escaped(grid_cells *to, char byte, enum grid_look look)
{
	char text[ESCAPED_BYTE];

	escape_byte(text, byte);
	for (unsigned i = 0; i < ESCAPED_BYTE; i++)
		*vec_add(to) = (struct grid_cell){ (unsigned char)text[i], (uint8_t)look };
}

/* The text as cells; the caller frees them. A wide character is its cell and one with code 0 behind
 * it, so that cells are columns. Bytes that are no UTF-8 are escaped one by one. */
static grid_cells cells_of(const struct grid *g, const char *text, enum grid_look look)
{
	grid_cells cells = { 0 };
	size_t n = strlen(text);

	while (n) {
		uint32_t code = 0;
		size_t used = utf8_character(text, n, &code);
		unsigned width = used ? width_of(g, code) : 0;

		used = used ? used : 1;
		if (width)
			*vec_add(&cells) = (struct grid_cell){ code, (uint8_t)look };
		for (size_t i = 0; !width && i < used; i++)
			add_escaped(&cells, text[i], look);
		if (width == 2)
			*vec_add(&cells) = (struct grid_cell){ 0, (uint8_t)look };
		text += used;
		n -= used;
	}
	return cells;
}

/* A wide character of which only one half is inside is not shown. */
static unsigned put_cells(struct grid *g, unsigned row, unsigned column, unsigned width,
		    const struct grid_cell *cells, size_t n)
{
	struct grid_cell *to;

	if (row >= g->rows || column >= g->columns)
		return 0;
	width = width < g->columns - column ? width : g->columns - column;
	width = n < width ? (unsigned)n : width;
	to = g->at + (size_t)row * g->columns + column;
	for (unsigned i = 0; i < width; i++)
		to[i] = !i && !cells[i].code ? (struct grid_cell){ ' ', cells[i].look } : cells[i];
	if (width && width < n && !cells[width].code)
		to[width - 1].code = ' ';
	return width;
}

/* Text of a trace may have any bytes: cells_of() leaves no control character through to the
 * terminal. */
unsigned grid_text(struct grid *g, unsigned row, unsigned column, unsigned width,
		   enum grid_look look, const char *text)
{
	grid_cells cells = cells_of(g, text, look);
	unsigned used = put_cells(g, row, column, width, cells.at, cells.n);

	vec_free(&cells);
	return used;
}

#define GAP 2u /* of a name that was cut: two points */

unsigned grid_name(struct grid *g, unsigned row, unsigned column, unsigned width,
		   enum grid_look look, const char *name)
{
	grid_cells cells = cells_of(g, name, look);
	size_t n = cells.n, head, used;

	/* The end tells more than the middle: the last part of a qualified name, an offset. */
	if (n > width && width > 3 * GAP) {
		head = (width - GAP) / 2;
		used = width - GAP - head;
		/* Halves of wide characters at the cuts. */
		if (!cells.at[head].code)
			cells.at[head - 1].code = '.';
		memmove(cells.at + head + GAP, cells.at + n - used, used * sizeof(*cells.at));
		for (size_t i = head; i < head + GAP; i++)
			cells.at[i] = (struct grid_cell){ '.', (uint8_t)look };
		if (!cells.at[head + GAP].code)
			cells.at[head + GAP].code = '.';
		n = width;
	}
	used = put_cells(g, row, column, width, cells.at, n);
	vec_free(&cells);
	return (unsigned)used;
}

#define FILE_LEAST 9u /* columns of a file that is cut */

static size_t width_of_text(const struct grid *g, const char *text)
{
	grid_cells cells = cells_of(g, text, GRID_PLAIN);
	size_t n = cells.n;

	vec_free(&cells);
	return n;
}

/* Where too little is left for the file, the whole is cut in its middle. */
unsigned grid_label(struct grid *g, unsigned row, unsigned column, unsigned width,
		    enum grid_look look, const char *name, const char *file)
{
	const size_t own = width_of_text(g, name), of_file = width_of_text(g, file);
	unsigned used;
	char *whole;

	if (!*file)
		return grid_name(g, row, column, width, look, name);
	if (own + of_file + 3 <= width || own + FILE_LEAST + 3 > width) {
		whole = mem_printf("%s [%s]", name, file);
		used = grid_name(g, row, column, width, look, whole);
		free(whole);
		return used;
	}
	used = grid_text(g, row, column, width, look, name);
	used += grid_text(g, row, column + used, 2, look, " [");
	used += grid_name(g, row, column + used, width - used - 1, look, file);
	return used + grid_text(g, row, column + used, 1, look, "]");
}

/* A text that is too long is cut at its end, like any other. */
void grid_right(struct grid *g, unsigned row, unsigned column, unsigned width, enum grid_look look,
		const char *text)
{
	grid_cells cells = cells_of(g, text, look);
	unsigned left = cells.n < width ? width - (unsigned)cells.n : 0;

	put_cells(g, row, column + left, width, cells.at, cells.n);
	vec_free(&cells);
}

/* Changes the look of cells and keeps their text. */
void grid_paint(struct grid *g, unsigned row, unsigned column, unsigned width, enum grid_look look)
{
	for (unsigned c = column; row < g->rows && c < g->columns && c - column < width; c++)
		g->at[(size_t)row * g->columns + c].look = (uint8_t)look;
}

/* --- as text ---------------------------------------------------------------------------------- */

/* Blanks at the end are left out; the second half of a wide character has no text of its own. */
char *grid_line(const struct grid *g, unsigned row)
{
	const struct grid_cell *cells = g->at + (size_t)row * g->columns;
	char *text = mem_zalloc((size_t)g->columns * UTF8_LONGEST + 1), *at = text;
	unsigned n = g->columns;

	while (n && cells[n - 1].code == ' ')
		n--;
	for (unsigned i = 0; i < n; i++)
		at += cells[i].code ? utf8_write(cells[i].code, at) : 0;
	return text;
}
