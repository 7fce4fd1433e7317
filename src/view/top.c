/* SPDX-License-Identifier: MIT */
/* Called by ui/cmd/top.c. The tables' rows are those of the rates, which only grow; what they show
 * is a turn that is over, so that all figures of a screen are of one time. Nothing fails. */
#include "view/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

const char *const top_column_words[TOP_COLUMNS_N] = { "calls", "self", "total", "mean", "p99",
						       "max" };
const char *const top_by_words[RATES_BY_N] = { "function", "thread", "module" };

/* n: it is none of them. */
static unsigned word_find(const char *const *words, unsigned n, const char *word)
{
	unsigned i = 0;

	while (i < n && strcmp(words[i], word))
		i++;
	return i;
}

enum top_column top_column_find(const char *word)
{
	return word_find(top_column_words, TOP_COLUMNS_N, word);
}

enum rates_by top_by_find(const char *word)
{
	return word_find(top_by_words, RATES_BY_N, word);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The figures that the user wants to see: the last turn, or all of them. */
static enum rates_span span_of(const struct top *t)
{
	return t->all ? RATES_ALL : RATES_TURN;
}

/* The time by which shares and rates are computed. ns of CLOCK_MONOTONIC, 0 before the first turn
 * has ended. */
static uint64_t span_ns(const struct top *t)
{
	return t->all ? t->rates->all_ns : t->rates->turn_ns;
}

/* The rates behind a row of the table. `of` is a struct top_table, which the generic table knows
 * nothing about. The pointer holds until a step adds a row: the caller has the lock. */
static const struct rates_row *row_at(const void *of, size_t row)
{
	const struct top_table *t = of;

	return &t->top->rates->rows[t->by].at[row];
}

static const struct rates_sum *sum_at(const void *of, size_t row)
{
	const struct top_table *t = of;

	return &row_at(of, row)->sums[span_of(t->top)];
}

/* n in ns nanoseconds; 128 bits, since a long run has many calls. */
static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((unsigned __int128)n * 1000000000 / ns) : 0;
}

/* The number that a column sorts by. Calls are a rate; the mean is of calls with a duration. The
 * numbers are those that are shown, so that a sorted column looks sorted. */
static uint64_t number_at(const void *of, size_t row, unsigned column)
{
	const struct rates_sum *s = sum_at(of, row);
	const struct top_table *t = of;

	switch (column) {
	case TOP_CALLS: return per_second(s->calls, span_ns(t->top));
	case TOP_SELF: return s->self;
	case TOP_TOTAL: return s->total;
	case TOP_MEAN: return s->ended ? s->sum / s->ended : 0;
	case TOP_P99: return s->p99;
	default: return s->max;
	}
}

/* "-": no call of the row has ended in that time. */
static void text_at(const void *of, size_t row, unsigned column, char to[TABLE_TEXT])
{
	const struct top_table *t = of;
	uint64_t n = number_at(of, row, column);

	if (column == TOP_CALLS)
		table_count(to, n);
	else if (column == TOP_SELF || column == TOP_TOTAL)
		table_share(to, rates_share(t->top->rates, span_of(t->top), n));
	else if (sum_at(of, row)->ended)
		table_time(to, n);
	else
		snprintf(to, TABLE_TEXT, "-");
}

static const char *name_at(const void *of, size_t row)
{
	return row_at(of, row)->name;
}

static const char *file_at(const void *of, size_t row)
{
	return row_at(of, row)->file;
}

static const struct table_column columns[TOP_COLUMNS_N] = {
	[TOP_CALLS] = { "CALLS/S", 10 }, [TOP_SELF] = { "SELF%", 8 }, [TOP_TOTAL] = { "TOTAL%", 8 },
	[TOP_MEAN] = { "MEAN", 12, 100 }, [TOP_P99] = { "P99", 12 }, [TOP_MAX] = { "MAX", 12, 112 },
};

static const struct table_rows rows[RATES_BY_N] = {
	[RATES_FUNCTIONS] = { columns, TOP_COLUMNS_N, "FUNCTION", number_at, text_at, name_at, file_at },
	[RATES_THREADS] = { columns, TOP_COLUMNS_N, "THREAD", number_at, text_at, name_at, file_at },
	[RATES_MODULES] = { columns, TOP_COLUMNS_N, "MODULE", number_at, text_at, name_at, file_at },
};

void top_init(struct top *t, const struct rates *rates)
{
	*t = (struct top){ .rates = rates };
	for (unsigned by = 0; by < RATES_BY_N; by++) {
		t->of[by] = (struct top_table){ t, by };
		table_init(&t->tables[by], &rows[by], &t->of[by], TOP_SELF);
	}
}

void top_free(struct top *t)
{
	for (unsigned by = 0; by < RATES_BY_N; by++)
		table_free(&t->tables[by]);
}

/* After each turn, and when the order or the filter has changed. The bar is moved only if its row
 * is gone. */
void top_update(struct top *t)
{
	struct table_view *table = &t->tables[t->by];
	size_t kept = 0;

	table_update(table, t->rates->rows[t->by].n);
	/* Rows that did nothing in the turn are not shown. */
	for (size_t i = 0; i < table->order.n; i++) {
		const struct rates_sum *s = sum_at(table->of, table->order.at[i]);

		if (s->calls || s->total || s->ended)
			table->order.at[kept++] = table->order.at[i];
	}
	table->order.n = kept;
	if (table->chosen >= kept)
		table->chosen = kept ? kept - 1 : 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* "12.3": a part of the whole in percent. */
static void tenths(char to[TABLE_TEXT], uint64_t part, uint64_t whole)
{
	uint64_t n = whole ? (uint64_t)((unsigned __int128)part * 1000 / whole) : 0;

	snprintf(to, TABLE_TEXT, "%" PRIu64 ".%" PRIu64, n / 10, n % 10);
}

/* The sentence about the tracing's cost; free() it. Both are parts of the time that has passed, of
 * one CPU: 200 % is two CPUs. */
static char *cost_line(const struct top_facts *f)
{
	char own[TABLE_TEXT], calls[TABLE_TEXT];

	tenths(own, f->tracer_ns, f->wall_ns);
	tenths(calls, f->cost_ns, f->wall_ns);
	return mem_printf("tracing: brace on %s %% of a CPU, %" PRIu64 " records/s, %" PRIu64
			  " lost%s%s%s", own, per_second(f->records, f->wall_ns), f->lost,
			  f->cost_known ? "; calls cost " : "", f->cost_known ? calls : "",
			  f->cost_known ? " %" : "");
}

/* The first line; free() it. */
static char *run_line(const struct top *t, const struct top_facts *f)
{
	return mem_printf("brace top - %s, %" PRIu64 " s%s: %s", f->clock, f->elapsed_ns / 1000000000,
			  f->over ? ", ended" : t->paused ? ", paused" : "", f->program);
}

/* The second line; free() it. */
static char *calls_line(const struct top *t)
{
	const struct table_view *table = &t->tables[t->by];

	return mem_printf("calls: %" PRIu64 "/s, %" PRIu64 " in all; threads: %u; %ss: %zu; %s%s%s",
			  per_second(t->rates->calls[RATES_TURN], t->rates->turn_ns),
			  t->rates->calls[RATES_ALL], t->rates->threads_on, top_by_words[t->by],
			  table->order.n, t->all ? "since the start" : "last turn",
			  table->filter ? "; filter: " : "", table->filter ? table->filter : "");
}

/* --- the screen ------------------------------------------------------------------------------- */

#define HEAD 3u /* rows above the table */

static const char *const help[] = {
	"f  functions     t  threads     m  modules     Tab  the next of them",
	"<  >  sort by another column     r  turn the order around",
	"/  show only names that match (* and ? are patterns); Enter with nothing: all",
	"a  since the start, or the last turn only     Space  hold the figures",
	"Up Down PageUp PageDown Home End  move",
	"q, Ctrl-C  end; the program goes on without brace",
	"",
	"SELF%: part of the time that all threads spent in recorded calls. TOTAL%:",
	"with the calls it made. MEAN, P99, MAX: of the calls that ended.",
	NULL
};

/* Takes the text over. */
static void draw_line(struct grid *g, unsigned row, enum grid_look look, char *text)
{
	grid_text(g, row, 0, g->columns, look, text);
	free(text);
}

/* Small terminals lose the table first, then the last line; the head stays. */
void top_draw(struct top *t, const struct top_facts *f, struct grid *g)
{
	draw_line(g, 0, GRID_BOLD, run_line(t, f));
	draw_line(g, 1, GRID_PLAIN, calls_line(t));
	draw_line(g, 2, f->lost ? GRID_WARNING : GRID_PLAIN, cost_line(f));
	if (g->rows > HEAD + 1 && !t->help)
		table_draw(&t->tables[t->by], g, HEAD, g->rows - HEAD - 1);
	for (unsigned i = 0; t->help && help[i]; i++)
		grid_text(g, HEAD + 1 + i, 2, g->columns, GRID_PLAIN, help[i]);
	if (g->rows <= HEAD)
		return;
	if (t->prompt.label)
		prompt_draw(&t->prompt, g);
	else
		grid_text(g, g->rows - 1, 0, g->columns, GRID_DIM,
			  "? help  q end  f t m rows  < > sort  / filter  a since start");
}

/* The rows' table may be older than the turn: it is sorted now. */
static void show_rows(struct top *t, enum rates_by by)
{
	t->by = by;
	top_update(t);
}

/* A key that chooses rows; RATES_BY_N: it is none. */
static enum rates_by by_of_key(const struct top *t, unsigned key)
{
	switch (key) {
	case 'f': return RATES_FUNCTIONS;
	case 't': return RATES_THREADS;
	case 'm': return RATES_MODULES;
	case VIEW_TAB: return (t->by + 1) % RATES_BY_N;
	default: return RATES_BY_N;
	}
}

/* While the prompt is open all keys are its. An empty text shows all rows again. Rows of each kind
 * have a filter of their own. */
static void take_filter(struct top *t, const struct view_event *e)
{
	if (prompt_key(&t->prompt, e) != PROMPT_GIVEN)
		return;
	table_set_filter(&t->tables[t->by], t->prompt.text);
	top_update(t);
}

/* False: the user ends it. Any key leaves the help, and means nothing else then. */
bool top_key(struct top *t, const struct view_event *e)
{
	bool sorted = false;

	if (e->key == VIEW_HUNG_UP || e->key == VIEW_INTERRUPT)
		return false;
	if (e->key == VIEW_RESIZED)
		return true;
	if (t->prompt.label) {
		take_filter(t, e);
		return true;
	}
	if (e->key == 'q')
		return false;
	if (e->key == '?' || e->key == 'h' || e->key == VIEW_HELP || t->help)
		t->help = !t->help && e->key != VIEW_NONE;
	else if (e->key == '/')
		prompt_open(&t->prompt, "show only: ");
	else if (e->key == ' ')
		t->paused = !t->paused;
	else if (e->key == 'a')
		t->all = !t->all;
	else if (by_of_key(t, e->key) != RATES_BY_N)
		show_rows(t, by_of_key(t, e->key));
	else
		table_key(&t->tables[t->by], e, &sorted);
	if (sorted || e->key == 'a')
		top_update(t);
	return true;
}

/* --- for pipes -------------------------------------------------------------------------------- */

/* The number of rows that a limit leaves; a limit of 0 leaves all. */
static size_t rows_shown(const struct table_view *t, size_t n)
{
	return n && n < t->order.n ? n : t->order.n;
}

/* Takes the text over. */
static void print_line(struct out *out, char *text)
{
	out_str(out, text);
	out_char(out, '\n');
	free(text);
}

/* The row of a screen that is wide enough for all columns. */
static void print_row(const struct table_view *t, uint32_t row, struct out *out)
{
	const char *file = file_at(t->of, row);
	char text[TABLE_TEXT];

	for (unsigned c = 0; c < TOP_COLUMNS_N; c++) {
		text_at(t->of, row, c, text);
		out_printf(out, "%*s", (int)columns[c].width, text);
	}
	out_str(out, "  ");
	out_foreign(out, name_at(t->of, row), SIZE_MAX);
	if (*file) {
		out_str(out, " [");
		out_foreign(out, file, SIZE_MAX);
		out_char(out, ']');
	}
	out_char(out, '\n');
}

/* For --batch: one turn, as the screen has it, with a blank line behind. Foreign text is escaped:
 * names are the program's, and the output may be a terminal. */
void top_print(const struct top *t, const struct top_facts *f, size_t n, struct out *out)
{
	const struct table_view *table = &t->tables[t->by];

	print_line(out, run_line(t, f));
	print_line(out, calls_line(t));
	print_line(out, cost_line(f));
	for (unsigned c = 0; c < TOP_COLUMNS_N; c++)
		out_printf(out, "%*s", (int)columns[c].width, columns[c].title);
	out_printf(out, "  %s\n", table->rows->title);
	for (size_t i = 0; i < rows_shown(table, n); i++)
		print_row(table, table->order.at[i], out);
	out_char(out, '\n');
}

/* Percents have two decimals, times are nanoseconds. Threads and modules have no module. Percents
 * are integers of hundredths, printed without floating point, so that every locale and reader has
 * the same digits. */
static void print_row_json(const struct top *t, const struct table_view *table, uint32_t row,
			   struct out *out)
{
	const struct rates_sum *s = sum_at(table->of, row);
	unsigned self = rates_share(t->rates, span_of(t), s->self);
	unsigned total = rates_share(t->rates, span_of(t), s->total);

	out_str(out, "{\"name\":");
	json_string(out, name_at(table->of, row));
	if (t->by == RATES_FUNCTIONS) {
		out_str(out, ",\"module\":");
		json_string(out, file_at(table->of, row));
	}
	out_printf(out, ",\"calls\":%" PRIu64 ",\"calls_per_s\":%" PRIu64 ",\"self_ns\":%" PRIu64
		   ",\"self_percent\":%u.%02u,\"total_ns\":%" PRIu64 ",\"total_percent\":%u.%02u", s->calls,
		   number_at(table->of, row, TOP_CALLS), s->self, self / 100, self % 100, s->total,
		   total / 100, total % 100);
	out_printf(out, ",\"ended\":%" PRIu64 ",\"mean_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
		   ",\"max_ns\":%" PRIu64 "}", s->ended, number_at(table->of, row, TOP_MEAN),
		   number_at(table->of, row, TOP_P99), s->max);
}

/* One object for each turn, in a line of its own. */
void top_print_json(const struct top *t, const struct top_facts *f, size_t n, struct out *out)
{
	const struct table_view *table = &t->tables[t->by];

	out_printf(out, "{\"schema\":\"brace-top\",\"version\":1,\"by\":\"%s\",\"span\":\"%s\",\"elapsed_ns\":%" PRIu64
		   ",\"span_ns\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64,
		   top_by_words[t->by], t->all ? "all" : "turn", f->elapsed_ns, span_ns(t),
		   t->rates->calls[span_of(t)], f->records, f->lost);
	if (f->cost_known)
		out_printf(out, ",\"calls_cost_ns\":%" PRIu64, f->cost_ns);
	out_printf(out, ",\"tracer_cpu_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"over\":%s,\"rows\":[",
		   f->tracer_ns, f->wall_ns, f->over ? "true" : "false");
	for (size_t i = 0; i < rows_shown(table, n); i++) {
		out_str(out, i ? "," : "");
		print_row_json(t, table, table->order.at[i], out);
	}
	out_str(out, "]}\n");
}
