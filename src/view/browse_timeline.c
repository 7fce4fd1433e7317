/* SPDX-License-Identifier: MIT */
/* The timeline: a lane of nested calls for each thread, on one axis of time. Short calls beside
 * each other are one box until one looks closer; a closer look than the survey allows reads the
 * trace again. The cursor is a column; the last but one line says which call is under it. browse.c
 * calls it by its row, on the thread that draws; nothing fails. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/browse.h"

#define NAME 16u             /* columns of threads' names */
#define LEAST_NS 16u         /* of the whole width */
#define OTHERS 2u            /* rows of a lane that is not chosen */

/* The chosen lane's thread; thread 0 in a trace without any. */
static uint32_t thread_of(const struct browse *b)
{
	return b->line.thread < b->line.order.n ? b->line.order.at[b->line.thread] : 0;
}

/* The nanoseconds that the columns show. */
static uint64_t span_of(const struct browse *b)
{
	return b->line.to > b->line.from ? b->line.to - b->line.from : 1;
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* Keeps the range inside of the trace, and asks for a closer survey if its grains are seen. A range
 * of fewer than 256 grains would show them as blocks: a closer survey is wanted then. Sums of times
 * could wrap where a file is damaged, hence differences. */
static void show_range(struct browse *b, uint64_t from, uint64_t span)
{
	const uint64_t all = b->last - b->first;

	span = span < LEAST_NS ? LEAST_NS : span < all ? span : all;
	from = from < b->first ? b->first : from;
	from = from > b->last - span ? b->last - span : from;
	b->line.from = from;
	b->line.to = from + span;
	if (b->line.at < b->line.from)
		b->line.at = b->line.from;
	if (b->line.at > b->line.to)
		b->line.at = b->line.to;
	if (from >= b->survey.from && b->line.to <= b->survey.to &&
	    (span / 256 >= b->survey.grain || !b->survey.grain))
		return;
	/* A wider range than is shown: small steps aside need no other reading. */
	b->from = from - b->first > 2 * span ? from - 2 * span : b->first;
	b->to = b->last - b->line.to > 2 * span ? b->line.to + 2 * span : b->last;
	b->wants_closer = true;
}

/* Shows the chosen function's longest call in the middle, on its thread's lane, twice as wide as it
 * lasted. Without such a call: the whole trace. Called only when there is a survey. */
static void show_slowest(struct browse *b)
{
	uint32_t row = b->chosen.name ? survey_find(&b->survey, b->chosen.name, b->chosen.module)
				      : UINT32_MAX;
	const struct survey_row *r;
	uint64_t span;

	if (row == UINT32_MAX || !b->survey.rows.at[row].calls) {
		browse_say(b, "of no call of the chosen function is the return known");
		show_range(b, b->first, b->last - b->first);
		return;
	}
	r = &b->survey.rows.at[row];
	span = r->slowest_end - r->slowest_begin;
	b->line.at = r->slowest_begin + span / 2;
	for (size_t i = 0; i < b->line.order.n; i++)
		if (b->line.order.at[i] == r->slowest_thread)
			b->line.thread = (uint32_t)i;
	show_range(b, r->slowest_begin - (span / 2 < r->slowest_begin ? span / 2 : 0),
		   span < UINT64_MAX / 2 ? 2 * span : span);
}

/* Lanes for all threads that have calls or records, in the trace's order. */
static void enter_timeline(struct browse *b)
{
	b->line.order.n = 0;
	for (uint32_t t = 0; t < b->info->threads.n; t++)
		if (b->survey.lanes[t].n || b->wants_closer || b->info->threads.at[t].records)
			*vec_add(&b->line.order) = t;
	if (b->line.from == UINT64_MAX)
		show_slowest(b);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The column of a time; times outside are at the edges. 128 bits, since a range of days in ns times
 * columns exceeds 64. */
static unsigned column_of(const struct browse *b, uint64_t ns)
{
	uint64_t at = ns > b->line.from ? ns - b->line.from : 0;

	at = at < span_of(b) ? at : span_of(b);
	return (unsigned)((unsigned __int128)at * b->line.columns / span_of(b));
}

/* A span of several calls has their number in place of a name. Each takes one column at least,
 * however short. */
static void draw_span(const struct browse *b, struct grid *g, unsigned row,
		      const struct survey_span *s)
{
	unsigned from = column_of(b, s->begin), to = column_of(b, s->end);
	const char *name = s->row == SURVEY_MANY ? "" : b->survey.rows.at[s->row].name;
	enum grid_look look = browse_look(name);
	char many[32];

	if (s->calls > 1) {
		snprintf(many, sizeof(many), "%u calls", s->calls);
		name = many;
	}
	from = from < b->line.columns ? from : b->line.columns - 1;
	to = to > from ? to : from + 1;
	/* The former column of its own stays visible at its left. */
	grid_text(g, row, NAME + from, to - from, look, "");
	for (unsigned c = from; c < to && NAME + c < g->columns; c++)
		g->at[(size_t)row * g->columns + NAME + c] = (struct grid_cell){ ' ', look };
	if (to - from > 3)
		grid_name(g, row, NAME + from, to - from - 1, look, name);
}

/* The spans of one depth that lie in the range, found by bisection: they are by time. */
static void draw_depth(const struct browse *b, struct grid *g, unsigned row, uint32_t thread,
		       unsigned depth)
{
	const survey_spans *spans = &b->survey.lanes[thread].depths[depth];
	size_t i = vec_bisect(spans, span, span->end < b->line.from);

	for (; i < spans->n && spans->at[i].begin <= b->line.to; i++)
		draw_span(b, g, row, &spans->at[i]);
}

/* Returns the rows that the lane took. A lane without calls has a row for its name. `bottom` is the
 * first row that is no lane's. */
static unsigned draw_lane(const struct browse *b, struct grid *g, unsigned row, unsigned bottom,
			  uint32_t number)
{
	const uint32_t thread = b->line.order.at[number];
	const struct survey_lane *l = &b->survey.lanes[thread];
	const struct trace_thread *t = &b->info->threads.at[thread];
	char *name = mem_printf("%.*s-%u", TRACE_COMM, trace_thread_name(t), t->tid);
	const bool chosen = number == b->line.thread;
	unsigned rows = chosen ? l->n : l->n < OTHERS ? l->n : OTHERS;

	rows = rows ? rows : 1;
	rows = rows < bottom - row ? rows : bottom - row;
	grid_name(g, row, 0, NAME - 1, chosen ? GRID_CHOSEN : GRID_PLAIN, name);
	for (unsigned d = 0; d < rows && d < l->n; d++)
		draw_depth(b, g, row + d, thread, d);
	free(name);
	return rows;
}

/* When the range begins, counted from the trace's first record, and how wide it is. */
static void draw_axis(const struct browse *b, struct grid *g, unsigned row)
{
	char from[TABLE_TEXT], span[TABLE_TEXT], *text;

	table_time(from, b->line.from - b->first);
	table_time(span, span_of(b));
	text = mem_printf("+%s, %s wide%s", from, span,
			  b->survey.cut ? "; there are more calls than can be shown" : "");
	grid_paint(g, row, 0, g->columns, GRID_BAR);
	grid_text(g, row, NAME, g->columns - NAME, GRID_BAR, text);
	free(text);
}

/* The innermost call under the cursor. */
static const struct survey_span *under_cursor(const struct browse *b)
{
	const struct survey_span *found = NULL, *s;

	for (unsigned d = 0; b->line.order.n && d < b->survey.lanes[thread_of(b)].n; d++) {
		s = survey_at(&b->survey, thread_of(b), d, b->line.at);
		found = s ? s : found;
	}
	return found;
}

/* The last row: when the call under the cursor began, and how long it lasted. */
static void draw_cursor(const struct browse *b, struct grid *g, unsigned row)
{
	const struct survey_span *s = under_cursor(b);
	char at[TABLE_TEXT], lasted[TABLE_TEXT], *text;

	if (!s)
		return;
	table_time(at, s->begin - (s->begin < b->first ? s->begin : b->first));
	table_time(lasted, s->end - s->begin);
	text = mem_printf("+%s, %s: %s%s", at, lasted,
			  s->row == SURVEY_MANY ? "several functions" : b->survey.rows.at[s->row].name,
			  s->calls > 1 ? ", many calls" : "");
	grid_name(g, row, 0, g->columns, GRID_BOLD, text);
	free(text);
}

/* The chosen lane comes with up to three before it, so that its neighbours are seen. */
static void draw_timeline(struct browse *b, struct grid *g, unsigned top, unsigned height)
{
	unsigned row = top + 1, bottom = top + height - 1, column;
	uint32_t first = b->line.thread > 3 ? b->line.thread - 3 : 0;

	b->line.columns = g->columns > NAME + 1 ? g->columns - NAME : 1;
	draw_axis(b, g, top);
	for (uint32_t i = first; i < b->line.order.n && row < bottom; i++)
		row += draw_lane(b, g, row, bottom, i);
	column = NAME + column_of(b, b->line.at);
	column = column < g->columns ? column : g->columns - 1;
	grid_text(g, top, column, 1, GRID_CHOSEN, "v");
	draw_cursor(b, g, bottom);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Around the cursor, which stays in its column. */
static void zoom_range(struct browse *b, bool closer)
{
	const uint64_t span = span_of(b), left = b->line.at - b->line.from;
	const uint64_t now = closer ? span / 2 : span > UINT64_MAX / 2 ? span : 2 * span;
	const uint64_t before = closer ? left / 2 : 2 * left;

	show_range(b, b->line.at - b->first > before ? b->line.at - before : b->first, now);
}

/* The cursor takes the range with it where it leaves it; half a range before it stays in sight.
 * `by` is at least a nanosecond: in the closest look a column may be less. */
static void move_cursor(struct browse *b, bool left, uint64_t by)
{
	by = by ? by : 1;
	if (left)
		b->line.at = b->line.at - b->first > by ? b->line.at - by : b->first;
	else
		b->line.at = b->last - b->line.at > by ? b->line.at + by : b->last;
	if (b->line.at < b->line.from)
		show_range(b, b->line.at - b->first > span_of(b) / 2 ? b->line.at - span_of(b) / 2
								    : b->first, span_of(b));
	else if (b->line.at > b->line.to)
		show_range(b, b->line.at - span_of(b) / 2, span_of(b));
}

/* Several calls in one span have no common function to be chosen. */
static void choose_under(struct browse *b)
{
	const struct survey_span *s = under_cursor(b);

	if (s && s->row != SURVEY_MANY)
		browse_follow(b, b->survey.rows.at[s->row].name, b->survey.rows.at[s->row].module);
}

/* An arrow moves the cursor by one column. */
static bool press_timeline(struct browse *b, const struct view_event *e)
{
	size_t lane = b->line.thread;

	switch (e->key) {
	case VIEW_LEFT: case VIEW_RIGHT:
		move_cursor(b, e->key == VIEW_LEFT,
			    span_of(b) / (b->line.columns ? b->line.columns : 1));
		return true;
	case '[': case ']':
		move_cursor(b, e->key == '[', span_of(b) / 4);
		return true;
	case '+': case '=': case '-':
		zoom_range(b, e->key != '-');
		return true;
	case '0':
		show_range(b, b->first, b->last - b->first);
		return true;
	case 's':
		show_slowest(b);
		return true;
	case VIEW_ENTER:
		choose_under(b);
		return true;
	default:
		if (!table_move(&lane, b->line.order.n, 8, e->key))
			return false;
		b->line.thread = (uint32_t)lane;
		return true;
	}
}

/* The slowest call of the first function that matches. */
static bool search_timeline(struct browse *b, const char *text)
{
	for (size_t i = 0; i < b->survey.rows.n; i++) {
		const struct survey_row *r = &b->survey.rows.at[i];

		if (!r->calls || !table_matches(r->name, text))
			continue;
		browse_choose(b, r->name, r->module);
		show_slowest(b);
		return true;
	}
	return false;
}

static const char *const timeline_help[] = {
	"Left Right   the cursor        [ ]   a quarter aside",
	"+ -          closer, wider     0     the whole trace",
	"Up Down      another thread    Enter choose the call under the cursor",
	"s            the slowest call of the chosen function", NULL
};

const struct browse_screen browse_timeline = {
	'5', "timeline", BROWSE_SURVEY, true, enter_timeline, draw_timeline, press_timeline,
	search_timeline, timeline_help
};
