/* SPDX-License-Identifier: MIT */
/* Sorts and prints the rows of a summary, on the thread of the command that has made it. Nothing
 * fails but the output, whose error stays in it. */
#include "report/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/losses.h"
#include "report/row_name.h"
#include "report/threshold.h"

const char *const summary_column_words[SUMMARY_COLUMNS_N] = {
#define X(id, word) [SUMMARY_##id] = word,
	SUMMARY_COLUMNS(X)
#undef X
};

static const struct { const char *word, *title; bool time; } counters[SUMMARY_COUNTERS] = {
#define X(id, word, title, time) [SUMMARY_COUNTER_##id] = { word, title, time },
	SUMMARY_COUNTER_COLUMNS(X)
#undef X
};

/* SUMMARY_COUNTERS: there is no such word. So is SUMMARY_COLUMNS_N below. */
enum summary_counter summary_counter_find(const char *word)
{
	unsigned c = 0;

	while (c < SUMMARY_COUNTERS && strcmp(counters[c].word, word))
		c++;
	return c;
}

enum summary_column summary_column_find(const char *word)
{
	unsigned c = 0;

	while (c < SUMMARY_COLUMNS_N && strcmp(summary_column_words[c], word))
		c++;
	return c;
}

/* --- order ----------------------------------------------------------------------------- */

/* The argument of compare_rows. */
struct order { enum summary_column by; bool reverse; };

/* Equal rows by name: the order of a report does not depend on the order of workers. */
static int by_text(const struct summary_row *x, const struct summary_row *y)
{
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->module, y->module);
}

static int by_number(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

/* Numbers from the greatest on, texts by the alphabet. 0 leaves it to the name, which
 * compare_rows() asks next. */
static int by_column(const struct summary_row *x, const struct summary_row *y,
		     enum summary_column by)
{
	if (by == SUMMARY_NAME)
		return 0;
	if (by == SUMMARY_MODULE)
		return strcmp(x->module, y->module);
	if (by == SUMMARY_KERNEL)
		return by_number(x->in_kernel, y->in_kernel);
	if (by == SUMMARY_BLOCKED)
		return by_number(x->blocked, y->blocked);
	return by_number(x->value[by], y->value[by]);
}

/* The name decides among equals, and --reverse turns it with the rest. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct summary_row *x = a, *y = b;
	const struct order *o = arg;
	int c = by_column(x, y, o->by);

	if (!c)
		c = by_text(x, y);
	return o->reverse ? -c : c;
}

void summary_sort(struct summary *s, enum summary_column by, bool reverse)
{
	struct order o = { by, reverse };

	if (s->rows.n)
		qsort_r(s->rows.at, s->rows.n, sizeof(*s->rows.at), compare_rows, &o);
}

/* compare_rows() for counters. */
struct counter_order { enum summary_counter by; bool reverse; };

static int compare_counters(const void *a, const void *b, void *arg)
{
	const struct summary_row *x = a, *y = b;
	const struct counter_order *o = arg;
	uint64_t v = x->counter[o->by], w = y->counter[o->by];
	int c = v != w ? (v > w ? -1 : 1) : by_text(x, y);

	return o->reverse ? -c : c;
}

void summary_sort_counter(struct summary *s, enum summary_counter by, bool reverse)
{
	struct counter_order o = { by, reverse };

	if (s->rows.n)
		qsort_r(s->rows.at, s->rows.n, sizeof(*s->rows.at), compare_counters, &o);
}

/* The denominator of SELF%: the time of all calls, each counted once. Sums of total would count a
 * call once more for each of its callers. */
uint64_t summary_self(const struct summary *s)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->rows.n; i++)
		all += s->rows.at[i].value[SUMMARY_SELF];
	return all;
}

/* An empty summary counts as timed: it has the usual columns. */
bool summary_is_timed(const struct summary *s)
{
	for (size_t i = 0; i < s->rows.n; i++)
		if (s->rows.at[i].value[SUMMARY_TOTAL])
			return true;
	return s->rows.n == 0;
}

/* Calls where nothing has a time, total where self times are unknown, else self. A thread's total
 * is the sum of its self times (summary.c), and so unknown with them. */
enum summary_column summary_default_column(const struct summary *s)
{
	if (!summary_is_timed(s) || (s->cut && s->by_thread))
		return SUMMARY_CALLS;
	return s->cut ? SUMMARY_TOTAL : SUMMARY_SELF;
}

/* n 0: all. Figures of the whole do not depend on it. */
static size_t rows_shown(const struct summary *s, size_t n)
{
	return n && n < s->rows.n ? n : s->rows.n;
}

/* --- table ----------------------------------------------------------------------------- */

#define COLUMN SUMMARY_COLUMN
#define ROWS_SEEN 20 /* rows after which the heading is out of sight */

size_t summary_time(char to[SUMMARY_TIME], uint64_t ns)
{
	static const struct { uint64_t ns; const char *word; } units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" },
	};

	/* The greatest unit of which there is at least one. */
	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++)
		if (ns >= units[u].ns)
			return (size_t)snprintf(to, SUMMARY_TIME, "%" PRIu64 ".%03" PRIu64 " %s",
						ns / units[u].ns,
						ns % units[u].ns / (units[u].ns / 1000),
						units[u].word);
	return (size_t)snprintf(to, SUMMARY_TIME, "%" PRIu64 " ns", ns);
}

void summary_print_time(struct out *o, uint64_t ns)
{
	char text[SUMMARY_TIME];
	size_t n = summary_time(text, ns);

	out_spaces(o, n < COLUMN ? COLUMN - n : 1);
	out_bytes(o, text, n);
}

/* Self time is unknown where short calls were not recorded. By thread, total is made of it. */
static bool column_is_known(const struct summary *s, enum summary_column column)
{
	return !s->cut || (column != SUMMARY_SELF && (column != SUMMARY_TOTAL || !s->by_thread));
}

/* A hyphen, because 0 would be a time. */
static void print_unknown(struct out *o)
{
	out_spaces(o, COLUMN - 1);
	out_char(o, '-');
}

#define SHARE 7 /* columns of a percentage */

#define BIT(column) (1u << (column))
#define ALL_COLUMNS (BIT(SUMMARY_NUMBERS) - 1)

/* The width of a line up to its name, with these numbers. */
static unsigned width_of(const struct summary *s, unsigned columns)
{
	unsigned n = (unsigned)__builtin_popcount(columns) + (s->kernel ? 2 : 0) +
		     (s->counters ? SUMMARY_COUNTERS : 0);

	return n * COLUMN + (columns & BIT(SUMMARY_SELF) ? SHARE : 0) + 2;
}

/* Numbers that a narrow terminal has no room for are left out, the least telling first. width 0: no
 * terminal. Without any time (the function tracer, events) there are calls alone. TOTAL, SELF and
 * CALLS always stay, even if the line wraps: they are what a summary is for. */
static unsigned choose_columns(const struct summary *s, unsigned width)
{
	static const enum summary_column dispensable[] = { SUMMARY_MIN, SUMMARY_MEAN, SUMMARY_P50,
							   SUMMARY_MAX, SUMMARY_P99 };
	unsigned columns = summary_is_timed(s) ? ALL_COLUMNS : BIT(SUMMARY_CALLS);

	for (size_t i = 0; i < sizeof(dispensable) / sizeof(*dispensable) && width &&
			   width_of(s, columns) + ROW_NAME_ROOM > width; i++)
		columns &= ~BIT(dispensable[i]);
	return columns;
}

static void print_titles(const struct summary *s, unsigned columns, struct out *o)
{
	static const char *const titles[SUMMARY_NUMBERS] = {
		"CALLS", "TOTAL", "SELF", "MIN", "MEAN", "P50", "P99", "MAX",
	};

	for (unsigned c = 0; c < SUMMARY_NUMBERS; c++) {
		if (!(columns & BIT(c)))
			continue;
		out_printf(o, "%*s", COLUMN, titles[c]);
		if (c == SUMMARY_SELF)
			out_printf(o, "%*s", SHARE, "SELF%");
	}
	if (s->kernel)
		out_printf(o, "%*s%*s", COLUMN, "KERNEL", COLUMN, "BLOCKED");
	for (unsigned c = 0; s->counters && c < SUMMARY_COUNTERS; c++)
		out_printf(o, "%*s", COLUMN, counters[c].title);
	out_printf(o, "  %s\n", s->title ? s->title : s->by_thread ? "THREAD" : "FUNCTION");
}

/* Hundredths of a percent. */
static uint64_t share_of(uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)part * 10000 / all) : 0;
}

/* all: summary_self(), which the caller has added up once for all rows. */
static void print_column(const struct summary *s, const struct summary_row *r, unsigned c,
			 uint64_t all, struct out *o)
{
	uint64_t share = share_of(r->value[c], all);

	if (!column_is_known(s, c)) {
		print_unknown(o);
		if (c == SUMMARY_SELF)
			out_printf(o, "%*s", SHARE, "-");
		return;
	}
	summary_print_time(o, r->value[c]);
	if (c == SUMMARY_SELF)
		out_printf(o, "%*u.%02u", SHARE - 3, (unsigned)(share / 100),
			   (unsigned)(share % 100));
}

/* Times and counts by their table, which JSON uses as well. */
static void print_counters(const struct summary_row *r, struct out *o)
{
	for (unsigned c = 0; c < SUMMARY_COUNTERS; c++)
		if (counters[c].time)
			summary_print_time(o, r->counter[c]);
		else
			out_u64(o, r->counter[c], COLUMN, ' ');
}

static void print_json_counters(const struct summary_row *r, struct out *o)
{
	for (unsigned c = 0; c < SUMMARY_COUNTERS; c++)
		out_printf(o, ",\"%s%s\":%" PRIu64, counters[c].word, counters[c].time ? "_ns" : "",
			   r->counter[c]);
}

/* Widths and the sum of self times are found once for all rows. n limits the rows and not the sum:
 * shares are those of the whole. */
void summary_print_table(const struct summary *s, size_t n, struct out *o)
{
	const unsigned columns = choose_columns(s, o->width);
	const unsigned used = width_of(s, columns);
	const uint64_t all = summary_self(s);

	n = rows_shown(s, n);
	losses_print(s->info, o);
	threshold_print(s->info, s->cut, o);
	print_titles(s, columns, o);
	for (size_t i = 0; i < n; i++) {
		const struct summary_row *r = &s->rows.at[i];

		out_u64(o, r->value[SUMMARY_CALLS], COLUMN, ' ');
		for (unsigned c = SUMMARY_TOTAL; c < SUMMARY_NUMBERS; c++)
			if (columns & BIT(c))
				print_column(s, r, c, all, o);
		if (s->kernel) {
			summary_print_time(o, r->in_kernel);
			summary_print_time(o, r->blocked);
		}
		if (s->counters)
			print_counters(r, o);
		out_bytes(o, "  ", 2);
		/* A thread's name is the program's to choose. Names without a symbol contain their
		 * module. */
		row_name_print(o, used, r->name, r->symbol ? r->module : NULL, s->by_thread);
	}
	/* Losses again, where the reader is. */
	if (n > ROWS_SEEN)
		losses_print(s->info, o);
}

/* --- JSON ------------------------------------------------------------------------------ */

/* Prints the members that say whose row it is: a thread's, or a function's. */
static void print_json_key(const struct summary *s, const struct summary_row *r, struct out *o)
{
	const struct trace_thread *t = s->by_thread ? &s->info->threads.at[r->thread] : NULL;
	char comm[TRACE_COMM + 1] = "";

	if (!t) {
		out_str(o, "{\"name\":");
		json_string(o, r->name);
		out_str(o, ",\"module\":");
		json_string(o, r->module);
		return;
	}
	memcpy(comm, trace_thread_name(t), strnlen(trace_thread_name(t), TRACE_COMM));
	out_str(o, "{\"comm\":");
	json_string(o, comm);
	out_printf(o, ",\"pid\":%u,\"tid\":%u", t->pid, t->tid);
}

static void print_json_share(const struct summary *s, const struct summary_row *r, uint64_t all,
			     struct out *o)
{
	const uint64_t share = share_of(r->value[SUMMARY_SELF], all);

	if (column_is_known(s, SUMMARY_SELF))
		out_printf(o, ",\"self_percent\":%u.%02u", (unsigned)(share / 100),
			   (unsigned)(share % 100));
	else
		out_str(o, ",\"self_percent\":null");
}

/* Every row has every column; a value that is not known is null. */
void summary_print_json(const struct summary *s, size_t n, struct out *o)
{
	const uint64_t all = summary_self(s);

	n = rows_shown(s, n);
	out_str(o, "{\"schema\":\"brace-report\",\"version\":1");
	losses_print_json(s->info, o);
	threshold_print_json(s->info, o);
	if (s->info->net)
		out_str(o, ",\"net\":true");
	out_str(o, "}\n");
	for (size_t i = 0; i < n; i++) {
		const struct summary_row *r = &s->rows.at[i];

		print_json_key(s, r, o);
		for (unsigned c = 0; c < SUMMARY_NUMBERS; c++) {
			out_str(o, ",\"");
			out_str(o, summary_column_words[c]);
			out_str(o, c == SUMMARY_CALLS ? "\":" : "_ns\":");
			if (column_is_known(s, c))
				out_u64(o, r->value[c], 0, ' ');
			else
				out_str(o, "null");
		}
		print_json_share(s, r, all, o);
		if (s->kernel)
			out_printf(o, ",\"kernel_ns\":%" PRIu64 ",\"blocked_ns\":%" PRIu64,
				   r->in_kernel, r->blocked);
		if (s->counters)
			print_json_counters(r, o);
		out_str(o, "}\n");
	}
}
