/* SPDX-License-Identifier: MIT */
/* Called by the screens (top.c, browse_tables.c and their kin) on the thread that draws. Nothing
 * fails. */
#include "view/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "report/summary.h"

_Static_assert(TABLE_TEXT >= SUMMARY_TIME, "a time fits");

/* rows tells how cells are made of the object `of`; both outlive the table. */
void table_init(struct table_view *t, const struct table_rows *rows, const void *of,
		unsigned column)
{
	*t = (struct table_view){ .rows = rows, .of = of, .column = column };
}

void table_free(struct table_view *t)
{
	vec_free(&t->order);
	free(t->filter);
	t->filter = NULL;
}

/* --- order ------------------------------------------------------------------------------------ */

/* By name, then by file. */
static int by_text(const struct table_view *t, uint32_t x, uint32_t y)
{
	int c = strcmp(t->rows->name(t->of, x), t->rows->name(t->of, y));

	return c ? c : strcmp(t->rows->file(t->of, x), t->rows->file(t->of, y));
}

/* Equal numbers by name, as reports have them. The column behind the last one is the name.
 * `reverse` turns the whole order around, names, too. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct table_view *t = arg;
	int c = 0;

	if (t->column < t->rows->n_columns) {
		uint64_t m = t->rows->number(t->of, x, t->column);
		uint64_t n = t->rows->number(t->of, y, t->column);

		c = m > n ? -1 : m < n;
	}
	c = c ? c : by_text(t, x, y);
	return t->reverse ? -c : c;
}

/* A text without wildcards matches where it stands within the other. */
bool table_matches(const char *text, const char *what)
{
	return strpbrk(what, "*?") ? glob_match(what, text) : strstr(text, what) != NULL;
}

/* A filter or a search looks at both texts. */
static bool row_matches(const struct table_view *t, uint32_t row, const char *what)
{
	return table_matches(t->rows->name(t->of, row), what) ||
	       table_matches(t->rows->file(t->of, row), what);
}

/* The text is copied; "" and NULL take the filter away. table_update() applies it. */
void table_set_filter(struct table_view *t, const char *filter)
{
	free(t->filter);
	t->filter = filter && *filter ? mem_strdup(filter) : NULL;
}

/* n: rows that there are now. The bar stays on its row, wherever that goes. Call it when rows,
 * order or filter have changed: drawing and keys use `order` alone. */
void table_update(struct table_view *t, size_t n)
{
	uint32_t chosen = table_chosen(t);

	t->order.n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!t->filter || row_matches(t, i, t->filter))
			*vec_add(&t->order) = i;
	if (t->order.n)
		qsort_r(t->order.at, t->order.n, sizeof(*t->order.at), compare_rows, t);
	/* A cursor on the first row stays on the first one, whichever that is. */
	if (t->chosen)
		table_choose(t, chosen);
	if (t->chosen >= t->order.n)
		t->chosen = t->order.n ? t->order.n - 1 : 0;
}

/* A row that the filter hides cannot be chosen: the choice stays as it was. */
void table_choose(struct table_view *t, uint32_t row)
{
	for (size_t i = 0; i < t->order.n; i++)
		if (t->order.at[i] == row)
			t->chosen = i;
}

/* UINT32_MAX: the table is empty. */
uint32_t table_chosen(const struct table_view *t)
{
	return t->chosen < t->order.n ? t->order.at[t->chosen] : UINT32_MAX;
}

/* From the row behind the bar on, and round: the bar itself comes last. */
bool table_search(struct table_view *t, const char *text)
{
	for (size_t k = 1; k <= t->order.n; k++) {
		size_t i = (t->chosen + k) % t->order.n;

		if (!row_matches(t, t->order.at[i], text))
			continue;
		t->chosen = i;
		return true;
	}
	return false;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Narrow screens leave the columns out that are wanted least. */
static bool is_shown(const struct table_column *c, const struct grid *g)
{
	return g->columns >= c->wide;
}

/* The column by which rows are sorted stands out. */
static void draw_heading(const struct table_view *t, struct grid *g, unsigned row)
{
	unsigned at = 0;

	grid_paint(g, row, 0, g->columns, GRID_BAR);
	for (unsigned c = 0; c < t->rows->n_columns; c++) {
		const struct table_column *column = &t->rows->columns[c];

		if (!is_shown(column, g))
			continue;
		grid_right(g, row, at, column->width, c == t->column ? GRID_CHOSEN : GRID_BAR,
			   column->title);
		at += column->width;
	}
	grid_text(g, row, at + 2, g->columns,
		  t->column == t->rows->n_columns ? GRID_CHOSEN : GRID_BAR, t->rows->title);
}

/* The columns, then the name with its file in brackets, cut if need be. */
static void draw_row(const struct table_view *t, struct grid *g, unsigned row, uint32_t of)
{
	const char *name = t->rows->name(t->of, of), *file = t->rows->file(t->of, of);
	char text[TABLE_TEXT];
	unsigned at = 0;

	for (unsigned c = 0; c < t->rows->n_columns; c++) {
		const struct table_column *column = &t->rows->columns[c];

		if (!is_shown(column, g))
			continue;
		t->rows->text(t->of, of, c, text);
		grid_right(g, row, at, column->width, GRID_PLAIN, text);
		at += column->width;
	}
	if (g->columns > at + 2)
		grid_label(g, row, at + 2, g->columns - at - 2, GRID_PLAIN, name, file);
}

/* height counts the heading. */
void table_draw(struct table_view *t, struct grid *g, unsigned top, unsigned height)
{
	t->height = height > 1 ? height - 1 : 1;
	draw_heading(t, g, top);
	/* The rows are moved just so far that the bar is among them. */
	if (t->chosen < t->first)
		t->first = t->chosen;
	if (t->chosen >= t->first + t->height)
		t->first = t->chosen - t->height + 1;
	for (unsigned i = 0; i + 1 < height && t->first + i < t->order.n; i++) {
		draw_row(t, g, top + 1 + i, t->order.at[t->first + i]);
		if (t->first + i == t->chosen)
			grid_paint(g, top + 1 + i, 0, g->columns, GRID_CHOSEN);
	}
}

/* --- keys ------------------------------------------------------------------------------------- */

/* False: the key is none that moves. */
bool table_move(size_t *chosen, size_t n, size_t page, unsigned key)
{
	const size_t last = n ? n - 1 : 0, at = *chosen < last ? *chosen : last;

	switch (key) {
	case VIEW_UP: case 'k':
		*chosen = at ? at - 1 : 0;
		return true;
	case VIEW_DOWN: case 'j':
		*chosen = at < last ? at + 1 : last;
		return true;
	case VIEW_PAGE_UP:
		*chosen = at > page ? at - page : 0;
		return true;
	case VIEW_PAGE_DOWN:
		*chosen = last - at > page ? at + page : last;
		return true;
	case VIEW_HOME:
		*chosen = 0;
		return true;
	case VIEW_END:
		*chosen = last;
		return true;
	default:
		return false;
	}
}

/* *sorted: the order has changed, and the caller calls table_update(). */
bool table_key(struct table_view *t, const struct view_event *e, bool *sorted)
{
	const unsigned n = t->rows->n_columns + 1;

	*sorted = e->key == '<' || e->key == '>' || e->key == 'r';
	if (e->key == '<')
		t->column = (t->column + n - 1) % n;
	else if (e->key == '>')
		t->column = (t->column + 1) % n;
	else if (e->key == 'r')
		t->reverse = !t->reverse;
	return *sorted || table_move(&t->chosen, t->order.n, t->height, e->key);
}

/* --- numbers ---------------------------------------------------------------------------------- */

void table_time(char to[TABLE_TEXT], uint64_t ns)
{
	summary_time(to, ns);
}

/* Hundredths of a percent. */
void table_share(char to[TABLE_TEXT], unsigned hundredths)
{
	snprintf(to, TABLE_TEXT, "%u.%02u", hundredths / 100, hundredths % 100);
}

void table_count(char to[TABLE_TEXT], uint64_t n)
{
	snprintf(to, TABLE_TEXT, "%" PRIu64, n);
}
