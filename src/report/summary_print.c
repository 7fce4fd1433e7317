/* SPDX-License-Identifier: MIT */
/* The rows of a summary, sorted and written. */
#include "report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/losses.h"
#include "report/threshold.h"

const char *const summary_column_words[SUMMARY_COLUMNS_N] = {
#define X(id, word) [SUMMARY_##id] = word,
	SUMMARY_COLUMNS(X)
#undef X
};

enum summary_column summary_column_find(const char *word)
{
	unsigned c = 0;

	while (c < SUMMARY_COLUMNS_N && strcmp(summary_column_words[c], word))
		c++;
	return c;
}

/* --- order ----------------------------------------------------------------------------- */

struct order { enum summary_column by; bool reverse; };

static int by_text(const struct summary_row *x, const struct summary_row *y)
{
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->module, y->module);
}

static int by_column(const struct summary_row *x, const struct summary_row *y, enum summary_column by)
{
	if (by == SUMMARY_NAME)
		return 0;
	if (by == SUMMARY_MODULE)
		return strcmp(x->module, y->module);
	return x->value[by] > y->value[by] ? -1 : x->value[by] < y->value[by];
}

static int compare(const void *a, const void *b, void *arg)
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
		qsort_r(s->rows.at, s->rows.n, sizeof(*s->rows.at), compare, &o);
}

static size_t rows_shown(const struct summary *s, size_t n)
{
	return n && n < s->rows.n ? n : s->rows.n;
}

/* --- table ----------------------------------------------------------------------------- */

#define COLUMN 11
#define ROWS_SEEN 20 /* above so many the heading is out of sight */

/* "123 ns", "12.345 us", "1.234 ms", "12.345 s": three decimals below the unit. */
static void print_time(struct out *o, uint64_t ns)
{
	static const struct { uint64_t ns; const char *word; } units[] = {
		{ 1000000000, " s" }, { 1000000, " ms" }, { 1000, " us" }, { 1, " ns" },
	};
	unsigned u = 0;
	size_t n;

	while (u < 3 && ns < units[u].ns)
		u++;
	n = out_width(ns / units[u].ns) + (u < 3 ? 4 : 0) + strlen(units[u].word);
	out_spaces(o, n < COLUMN ? COLUMN - n : 1);
	out_u64(o, ns / units[u].ns, 0, ' ');
	if (u < 3) {
		out_char(o, '.');
		out_u64(o, ns % units[u].ns / (units[u].ns / 1000), 3, '0');
	}
	out_str(o, units[u].word);
}

static bool is_known(const struct summary *s, enum summary_column column)
{
	return column != SUMMARY_SELF || !s->cut;
}

static void print_unknown(struct out *o)
{
	out_spaces(o, COLUMN - 1);
	out_char(o, '-');
}

static void print_titles(struct out *o)
{
	static const char *const titles[SUMMARY_NUMBERS] = {
		"CALLS", "TOTAL", "SELF", "MIN", "MEAN", "P50", "P99", "MAX",
	};

	for (unsigned c = 0; c < SUMMARY_NUMBERS; c++)
		out_printf(o, "%*s", COLUMN, titles[c]);
	out_str(o, "  FUNCTION\n");
}

void summary_print_table(const struct summary *s, size_t n, struct out *o)
{
	n = rows_shown(s, n);
	losses_print(s->info, o);
	threshold_print(s->info, s->cut, o);
	print_titles(o);
	for (size_t i = 0; i < n; i++) {
		const struct summary_row *r = &s->rows.at[i];

		out_u64(o, r->value[SUMMARY_CALLS], COLUMN, ' ');
		for (unsigned c = SUMMARY_TOTAL; c < SUMMARY_NUMBERS; c++)
			is_known(s, c) ? print_time(o, r->value[c]) : print_unknown(o);
		out_bytes(o, "  ", 2);
		out_str(o, r->name);
		if (r->symbol) { /* the others carry their module in their name */
			out_str(o, " [");
			out_str(o, r->module);
			out_char(o, ']');
		}
		out_char(o, '\n');
	}
	if (n > ROWS_SEEN)
		losses_print(s->info, o);
}

/* --- JSON ------------------------------------------------------------------------------ */

void summary_print_json(const struct summary *s, size_t n, struct out *o)
{
	n = rows_shown(s, n);
	out_str(o, "{\"schema\":\"brace-report\",\"version\":1");
	losses_print_json(s->info, o);
	threshold_print_json(s->info, o);
	out_str(o, "}\n");
	for (size_t i = 0; i < n; i++) {
		const struct summary_row *r = &s->rows.at[i];

		out_str(o, "{\"name\":");
		json_string(o, r->name);
		out_str(o, ",\"module\":");
		json_string(o, r->module);
		for (unsigned c = 0; c < SUMMARY_NUMBERS; c++) {
			out_str(o, ",\"");
			out_str(o, summary_column_words[c]);
			out_str(o, c == SUMMARY_CALLS ? "\":" : "_ns\":");
			if (is_known(s, c))
				out_u64(o, r->value[c], 0, ' ');
			else
				out_str(o, "null");
		}
		out_str(o, "}\n");
	}
}
