/* SPDX-License-Identifier: MIT */
/* Rows that a user sorts, filters, searches and scrolls: numbers on the left, the name on the
 * right. The rows belong to whoever made the table; it knows them by their indices. */
#pragma once
#include "base/vec.h"
#include "view/grid.h"
#include "view/keys.h"

#define TABLE_TEXT 24u /* bytes of a number as text */

struct table_column {
	const char *title;
	unsigned width;
	unsigned wide;      /* shown on screens of so many columns; 0: always */
};

struct table_rows {
	const struct table_column *columns;
	unsigned n_columns; /* of numbers; column n_columns is the name */
	const char *title;  /* of the names */
	uint64_t (*number)(const void *of, size_t row, unsigned column);
	void (*text)(const void *of, size_t row, unsigned column, char to[TABLE_TEXT]);
	const char *(*name)(const void *of, size_t row);
	const char *(*file)(const void *of, size_t row); /* "": none; stands in brackets */
};

struct table_view {
	const struct table_rows *rows;
	const void *of;
	VEC(uint32_t) order;    /* rows that are shown, in their order */
	size_t chosen, first;   /* of order */
	unsigned column;        /* by which they are sorted */
	bool reverse;
	char *filter;           /* a pattern, or a part of the name; NULL: all */
	unsigned height;        /* rows that were drawn last */
};

/* Sorted by `column`, numbers from the greatest on. `of` outlives it. table_free() frees it. */
void table_init(struct table_view *t, const struct table_rows *rows, const void *of,
		unsigned column);
void table_free(struct table_view *t);
/* Takes the n rows as they are now: sorts and filters them. The chosen row stays chosen. */
void table_update(struct table_view *t, size_t n);
/* NULL or "": no filter. Takes effect by table_update(). */
void table_set_filter(struct table_view *t, const char *filter);
/* Moves to the next row whose name matches. False: there is none. */
bool table_search(struct table_view *t, const char *text);
/* Chooses this row, if it is shown. */
void table_choose(struct table_view *t, uint32_t row);
/* The chosen row; UINT32_MAX: there is none. */
uint32_t table_chosen(const struct table_view *t);
/* Draws the heading and the rows below it, from grid row `top` on, `height` in all. */
void table_draw(struct table_view *t, struct grid *g, unsigned top, unsigned height);
/* Moves, sorts (< > choose the column, r turns it around). False: not a table's key. Whether the
 * order has changed: *sorted; then table_update() is due. */
bool table_key(struct table_view *t, const struct view_event *e, bool *sorted);

/* Whether a text has what a user searches: a pattern if it has a `*` or `?`, else a part of it. */
bool table_matches(const char *text, const char *what);
/* The shared form of a time: "12.345 us". */
void table_time(char to[TABLE_TEXT], uint64_t ns);
/* "12.34" of hundredths; "123456". */
void table_share(char to[TABLE_TEXT], unsigned hundredths);
void table_count(char to[TABLE_TEXT], uint64_t n);
/* Moves a choice among n by a key that moves; false: it is none. page: rows of a page. */
bool table_move(size_t *chosen, size_t n, size_t page, unsigned key);
