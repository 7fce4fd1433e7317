/* SPDX-License-Identifier: MIT */
/* The screens of functions and threads: rows of summaries, with the columns of `brace report`. And
 * the histogram of the chosen function. browse.c calls it by its rows, on the thread that draws;
 * nothing fails. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/browse.h"

enum { COLUMN_SHARE = SUMMARY_NUMBERS, COLUMNS_N };

static const struct table_column columns[COLUMNS_N] = {
	[SUMMARY_CALLS] = { "CALLS", 11 }, [SUMMARY_TOTAL] = { "TOTAL", 12 },
	[SUMMARY_SELF] = { "SELF", 12 }, [SUMMARY_MIN] = { "MIN", 12, 130 },
	[SUMMARY_MEAN] = { "MEAN", 12, 106 }, [SUMMARY_P50] = { "P50", 12, 142 },
	[SUMMARY_P99] = { "P99", 12 }, [SUMMARY_MAX] = { "MAX", 12, 118 },
	[COLUMN_SHARE] = { "SELF%", 8, 90 },
};

/* The share sorts as the own time that it is of. */
static uint64_t number_at(const void *of, size_t row, unsigned column)
{
	const struct summary *s = of;

	return s->rows.at[row].value[column == COLUMN_SHARE ? SUMMARY_SELF : column];
}

/* "-" where nothing is known: calls without durations, and own times where short calls were not
 * recorded. */
static void text_at(const void *of, size_t row, unsigned column, char to[TABLE_TEXT])
{
	const struct summary *s = of;
	uint64_t n = number_at(of, row, column);

	if (column == SUMMARY_CALLS)
		table_count(to, n);
	else if (!s->rows.at[row].timed || (s->cut && (column == SUMMARY_SELF ||
						       column == COLUMN_SHARE)))
		snprintf(to, TABLE_TEXT, "-");
	else if (column == COLUMN_SHARE)
		table_share(to, browse_share(n, summary_self(s)));
	else
		table_time(to, n);
}

static const char *name_at(const void *of, size_t row)
{
	const struct summary *s = of;

	return s->rows.at[row].name;
}

static const char *file_at(const void *of, size_t row)
{
	const struct summary *s = of;

	return s->rows.at[row].module;
}

static const struct table_rows function_rows = { columns, COLUMNS_N, "FUNCTION", number_at, text_at,
						 name_at, file_at };
static const struct table_rows thread_rows = { columns, COLUMNS_N, "THREAD", number_at, text_at,
					       name_at, file_at };

/* --- functions -------------------------------------------------------------------------------- */

/* The row under the bar is the chosen function on all screens. The texts are the summary's, and
 * live as long as *b. */
static void choose_row(struct browse *b)
{
	uint32_t row = table_chosen(&b->function_table);

	if (row != UINT32_MAX)
		browse_choose(b, b->functions.rows.at[row].name, b->functions.rows.at[row].module);
}

/* The first time, the rows have the order of a report; later the chosen function has the bar.
 * Called each time that the screen is shown, and when the part has come. */
static void enter_functions(struct browse *b)
{
	if (!b->function_table.rows) {
		table_init(&b->function_table, &function_rows, &b->functions,
			   summary_default_column(&b->functions));
		table_update(&b->function_table, b->functions.rows.n);
	}
	if (b->chosen.name && browse_summary_row(b) != UINT32_MAX)
		table_choose(&b->function_table, browse_summary_row(b));
	else
		choose_row(b);
}

static void draw_functions(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	table_draw(&b->function_table, g, top, height);
}

/* Row 0 has the tabs and row 1 the heading, so a click below them is a row. */
static bool press_functions(struct browse *b, const struct view_event *e)
{
	bool sorted;

	if (e->key == VIEW_ENTER) {
		browse_go(b, BROWSE_SCREEN_EDGES);
		return true;
	}
	if (e->key == VIEW_CLICK && e->row >= 2) {
		b->function_table.chosen = b->function_table.first + e->row - 2;
	} else if (!table_key(&b->function_table, e, &sorted)) {
		return false;
	} else if (sorted) {
		table_update(&b->function_table, b->functions.rows.n);
	}
	choose_row(b);
	return true;
}

/* A match is chosen, too. */
static bool search_functions(struct browse *b, const char *text)
{
	bool found = table_search(&b->function_table, text);

	choose_row(b);
	return found;
}

static const char *const functions_help[] = {
	"Up Down PageUp PageDown Home End   choose a function",
	"< >   sort by another column       r   turn the order around",
	"Enter its callers and callees      H   its histogram",
	"s     its slowest call in the timeline", NULL
};

const struct browse_screen browse_functions = {
	'1', "functions", BROWSE_FUNCTIONS, false, enter_functions, draw_functions, press_functions,
	search_functions, functions_help
};

/* --- threads ---------------------------------------------------------------------------------- */

/* The first time only: a thread is no function, so nothing was chosen elsewhere. */
static void enter_threads(struct browse *b)
{
	if (b->thread_table.rows)
		return;
	table_init(&b->thread_table, &thread_rows, &b->threads,
		   summary_default_column(&b->threads));
	table_update(&b->thread_table, b->threads.rows.n);
}

static void draw_threads(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	table_draw(&b->thread_table, g, top, height);
}

/* Enter shows the thread's lane; lanes are sought by the thread's number in the trace. */
static bool press_threads(struct browse *b, const struct view_event *e)
{
	uint32_t row = table_chosen(&b->thread_table);
	bool sorted;

	if (e->key == VIEW_ENTER && row != UINT32_MAX) {
		browse_go(b, BROWSE_SCREEN_TIMELINE);
		for (size_t i = 0; i < b->line.order.n; i++)
			if (b->line.order.at[i] == b->threads.rows.at[row].thread)
				b->line.thread = (uint32_t)i;
		return true;
	}
	if (!table_key(&b->thread_table, e, &sorted))
		return false;
	if (sorted)
		table_update(&b->thread_table, b->threads.rows.n);
	return true;
}

static bool search_threads(struct browse *b, const char *text)
{
	return table_search(&b->thread_table, text);
}

static const char *const threads_help[] = {
	"Up Down PageUp PageDown Home End   choose a thread",
	"< >   sort by another column       r   turn the order around",
	"Enter its lane in the timeline", NULL
};

const struct browse_screen browse_threads = {
	'6', "threads", BROWSE_THREADS, false, enter_threads, draw_threads, press_threads,
	search_threads, threads_help
};

/* --- the histogram ---------------------------------------------------------------------------- */

/* A line for each power of two from the first to the last that has calls; bars are as long as
 * their part of the highest one. */
static void draw_powers(const struct survey_row *r, struct grid *g, unsigned top, unsigned height)
{
	const unsigned bar = g->columns > 60 ? g->columns - 56 : 4;
	unsigned from = 0, to = SURVEY_POWERS;
	uint64_t most = 1;
	char text[128];

	while (from < to && !r->powers[from])
		from++;
	while (to > from && !r->powers[to - 1])
		to--;
	for (unsigned p = from; p < to; p++)
		most = r->powers[p] > most ? r->powers[p] : most;
	snprintf(text, sizeof(text), "%20s    %-20s : %-10s", "", "nsecs", "count");
	grid_text(g, top, 0, g->columns, GRID_DIM, text);
	for (unsigned p = from; p < to && p - from + 1 < height; p++) {
		unsigned row = top + 1 + p - from;
		unsigned width = (unsigned)((unsigned __int128)r->powers[p] * bar / most);

		snprintf(text, sizeof(text), "%20" PRIu64 " -> %-20" PRIu64 " : %-10" PRIu64,
			 p ? UINT64_C(1) << p : 0, (UINT64_C(2) << p) - 1, r->powers[p]);
		grid_text(g, row, 0, g->columns, GRID_PLAIN, text);
		grid_paint(g, row, 56, width, GRID_BAR);
	}
}

/* The survey of the whole has it all: nothing is read anew for another function. */
static void draw_histogram(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	uint32_t row = b->chosen.name ? survey_find(&b->survey, b->chosen.name, b->chosen.module)
				      : UINT32_MAX;
	char *text, *label, slowest[TABLE_TEXT];
	const struct survey_row *r;

	if (row == UINT32_MAX || !b->survey.rows.at[row].calls) {
		grid_text(g, top + 1, 2, g->columns, GRID_WARNING,
			  "of no call of the chosen function is the return known");
		return;
	}
	r = &b->survey.rows.at[row];
	label = browse_label(r->name, r->module);
	table_time(slowest, r->slowest);
	text = mem_printf("%" PRIu64 " calls, the slowest %s (s: show it)", r->calls, slowest);
	grid_name(g, top, 0, g->columns, GRID_BOLD, label);
	grid_text(g, top + 1, 0, g->columns, GRID_PLAIN, text);
	free(text);
	free(label);
	if (height > 4)
		draw_powers(r, g, top + 3, height - 3);
}

/* The histogram has no keys but those of all screens. */
static bool press_histogram(struct browse *b, const struct view_event *e)
{
	return false;
}

/* Shows another function: as if it were chosen in the first screen. */
static bool search_histogram(struct browse *b, const char *text)
{
	if (!b->has[BROWSE_FUNCTIONS])
		return false;
	enter_functions(b);
	return search_functions(b, text);
}

static const char *const histogram_help[] = {
	"How long the calls of the chosen function lasted, by powers of two.",
	"/ text Enter   that of another function",
	"s     its slowest call in the timeline", NULL
};

const struct browse_screen browse_histogram = {
	'7', "histogram", BROWSE_SURVEY, false, NULL, draw_histogram, press_histogram,
	search_histogram,
	histogram_help
};
