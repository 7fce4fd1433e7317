/* SPDX-License-Identifier: MIT */
/* Joins two sorted lists of rows. Called by cmd/diff.c, on its thread. Nothing fails but the
 * output, whose error stays in it. */
#include "report/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "report/groups.h"
#include "report/row_name.h"

#define CHANGE 10 /* columns of a change in percent */

/* --- rows ------------------------------------------------------------------------------------ */

/* "" for a trace without a program, whose modules then all keep their names. */
const char *compare_program(const struct summary *s)
{
	const struct trace_image *program = trace_info_program(s->info);

	return program && program->exe ? path_file_name(program->exe) : "";
}

/* The traced program's own module is left out of the key: two builds of it, at two paths, are
 * what a comparison is mostly made of. */
struct compare_key compare_key_of(const struct summary *s, const struct summary_row *r)
{
	return (struct compare_key){ r, strcmp(compare_program(s), r->module) ? r->module : "" };
}

/* Names first: a function that moved to another library stands beside itself. */
int compare_keys(const struct compare_key *a, const struct compare_key *b)
{
	int c = strcmp(a->row->name, b->row->name);

	return c ? c : strcmp(a->module, b->module);
}

static int by_key(const void *p, const void *q)
{
	return compare_keys(p, q);
}

/* The rows of one side by name; free() them. */
static struct compare_key *sorted_keys(const struct summary *s)
{
	struct compare_key *keys = mem_realloc(NULL, s->rows.n + 1, sizeof(*keys));

	for (size_t i = 0; i < s->rows.n; i++)
		keys[i] = compare_key_of(s, &s->rows.at[i]);
	qsort(keys, s->rows.n, sizeof(*keys), by_key);
	return keys;
}

/* c points into a and b, which have to outlive it. A name that one side has twice is paired in the
 * order of sorting; what is left over is a row of one side. Two sorted lists are merged in one
 * pass: the smaller key goes alone, equal ones go together. */
void compare_make(struct comparison *c, const struct summary *a, const struct summary *b,
		  enum summary_column column)
{
	struct compare_key *x = sorted_keys(a), *y = sorted_keys(b);
	size_t i = 0, k = 0;

	*c = (struct comparison){ .a = a, .b = b, .column = column };
	while (i < a->rows.n || k < b->rows.n) {
		int order = i == a->rows.n ? 1 : k == b->rows.n ? -1 : by_key(&x[i], &y[k]);

		*vec_add(&c->rows) = (struct compared_row){ order <= 0 ? x[i].row : NULL,
							    order >= 0 ? y[k].row : NULL };
		i += order <= 0;
		k += order >= 0;
	}
	free(x);
	free(y);
}

void compare_free(struct comparison *c)
{
	vec_free(&c->rows);
}

/* A row that a side lacks counts as 0: its function was not called there. */
static uint64_t value_of(const struct summary_row *r, enum summary_column column)
{
	return r ? r->value[column] : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

struct compare_order { enum summary_column column; bool reverse; };

/* The largest change first, in either direction: what has become faster is an answer, too. Equal
 * ones go by name, so that two runs print the same. It is the difference that counts, not the
 * growth in percent: a function that went from 1 us to 3 us is rarely the reason. */
static int by_change(const void *p, const void *q, void *arg)
{
	const struct compared_row *x = p, *y = q;
	const struct compare_order *o = arg;
	const uint64_t dx = distance(value_of(x->a, o->column), value_of(x->b, o->column)),
		       dy = distance(value_of(y->a, o->column), value_of(y->b, o->column));
	int c = dx > dy ? -1 : dx < dy;

	if (!c)
		c = strcmp((x->a ? x->a : x->b)->name, (y->a ? y->a : y->b)->name);
	return o->reverse ? -c : c;
}

void compare_sort(struct comparison *c, bool reverse)
{
	struct compare_order o = { c->column, reverse };

	if (c->rows.n)
		qsort_r(c->rows.at, c->rows.n, sizeof(*c->rows.at), by_change, &o);
}

/* The sum of self times is the time of all calls; that of totals counts each call once for every
 * caller above it. */
uint64_t compare_sum(const struct summary *s, enum summary_column column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->rows.n; i++)
		sum += s->rows.at[i].value[column];
	return sum;
}

/* Hundredths of a percent. INT64_MAX: from nothing to something, which no percentage tells. 128
 * bits, because ten thousand times a duration in ns may not fit into 64. INT64_MAX is kept for that
 * one meaning: a real growth ends one below it. */
int64_t compare_growth(uint64_t a, uint64_t b)
{
	__int128 hundredths;

	if (!a)
		return b ? INT64_MAX : 0;
	hundredths = ((__int128)b - (__int128)a) * 10000 / a;
	return hundredths >= INT64_MAX ? INT64_MAX - 1 : (int64_t)hundredths;
}

/* A side without the row has 0 in all of its runs. */
static const double *values_of(const struct run_group *g, const struct summary_row *r,
			       double **none)
{
	*none = r ? NULL : mem_zalloc(g->runs * sizeof(**none));
	return r ? group_values(g, r) : *none;
}

/* r NULL: of the sums of all rows. 0 where there are no groups of runs to tell noise by: every
 * change counts then. */
double compare_probability(const struct comparison *c, const struct compared_row *r)
{
	const struct run_group *a = c->groups[0], *b = c->groups[1];
	double *none[2], p;

	if (!a)
		return 0;
	if (!r)
		return group_probability(a->sums, a->runs, b->sums, b->runs);
	p = group_probability(values_of(a, r->a, &none[0]), a->runs,
			      values_of(b, r->b, &none[1]), b->runs);
	free(none[0]);
	free(none[1]);
	return p;
}

/* The row that alone makes the whole slower by most. *part: by how much, in hundredths of a percent
 * of all. NULL: none is slower. A group's row counts only if its change is more than noise
 * (GROUP_SIGNIFICANT). */
const struct compared_row *compare_worst(const struct comparison *c, uint64_t *part)
{
	const uint64_t all = compare_sum(c->a, c->column);
	const struct compared_row *worst = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < c->rows.n; i++) {
		uint64_t a = value_of(c->rows.at[i].a, c->column),
			 b = value_of(c->rows.at[i].b, c->column);

		if (b > a && b - a > most &&
		    compare_probability(c, &c->rows.at[i]) < GROUP_SIGNIFICANT) {
			most = b - a;
			worst = &c->rows.at[i];
		}
	}
	*part = (uint64_t)compare_growth(all, all + most);
	return worst;
}

/* --- printing --------------------------------------------------------------------------------- */

/* "-" tells a function that was not called from one whose calls took no time. */
static void print_value(const struct summary_row *r, enum summary_column column, struct out *o)
{
	if (!r)
		out_printf(o, "%*s", SUMMARY_COLUMN, "-");
	else if (column == SUMMARY_CALLS)
		out_u64(o, r->value[column], SUMMARY_COLUMN, ' ');
	else
		summary_print_time(o, r->value[column]);
}

#define TIMES 1000000u /* a growth of 10,000 %, from which on "x101" is read more easily */

/* "+12.34%", or "x4717" of what has become so many times as much; "new" and "gone" for a row of one
 * side. */
static void print_change(const struct comparison *c, const struct compared_row *r, struct out *o)
{
	const int64_t growth = compare_growth(value_of(r->a, c->column), value_of(r->b, c->column));
	const uint64_t size = growth < 0 ? 0 - (uint64_t)growth : (uint64_t)growth;
	char text[40];

	if (growth >= 0 && size >= TIMES)
		snprintf(text, sizeof(text), " x%" PRIu64, size / 10000 + 1);
	else
		snprintf(text, sizeof(text), "%c%" PRIu64 ".%02" PRIu64 "%%",
			 growth < 0 ? '-' : '+', size / 100, size % 100);
	out_printf(o, "%*s", CHANGE,
		   !r->a ? "new" : !r->b ? "gone" : growth == INT64_MAX ? "from 0" : text);
}

#define SPREAD 9             /* columns of a deviation, of a probability */
#define SPREADS (3 * SPREAD)

/* "+-1.2%": the standard deviation of a side's runs, in percent of their mean. */
static void print_deviation(const struct run_group *g, const struct summary_row *r, struct out *o)
{
	struct group_spread s = r ? group_spread(group_values(g, r), g->runs)
				  : (struct group_spread){ 0 };
	char text[40] = "-";

	if (s.mean > 0)
		snprintf(text, sizeof(text), "+-%.1f%%", 100 * s.deviation / s.mean);
	out_printf(o, "%*s", SPREAD, text);
}

/* Both sides' spread, and the probability that it explains the change; "*" marks one that it does
 * not. The test is Welch's, as the JSON says: the two sides need not vary alike. */
static void print_spread(const struct comparison *c, const struct compared_row *r, struct out *o)
{
	const double p = compare_probability(c, r);

	print_deviation(c->groups[0], r->a, o);
	print_deviation(c->groups[1], r->b, o);
	out_printf(o, "%*.3f%c", SPREAD - 1, p, p < GROUP_SIGNIFICANT ? '*' : ' ');
}

/* used: the columns to the left, by which the name is cut to the terminal's width. */
static void print_name(const struct summary_row *r, unsigned used, struct out *o)
{
	out_bytes(o, "  ", 2);
	row_name_print(o, used, r->name, r->symbol ? r->module : NULL, true);
}

/* Calls, the column that is looked at, its change, and what half of the calls last at most. Without
 * any time there is nothing but calls. A column that was asked for is not shown twice. */
static size_t columns_of(const struct comparison *c, enum summary_column *out)
{
	const bool timed = summary_is_timed(c->a) || summary_is_timed(c->b);
	size_t n = 0;

	out[n++] = SUMMARY_CALLS;
	if (timed && c->column != SUMMARY_CALLS)
		out[n++] = c->column;
	if (timed && c->column != SUMMARY_P50)
		out[n++] = SUMMARY_P50;
	return n;
}

/* A and B stand behind the columns' names, since two files' names would not fit; print_sums() tells
 * which is which. */
static void print_heading(const struct comparison *c, const enum summary_column *columns, size_t n,
			  struct out *o)
{
	char title[2][32];

	for (size_t i = 0; i < n; i++) {
		for (unsigned side = 0; side < 2; side++) {
			snprintf(title[side], sizeof(title[side]), "%s %c",
				 summary_column_words[columns[i]], 'A' + side);
			for (char *p = title[side]; *p; p++)
				*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
		}
		out_printf(o, "%*s%*s", SUMMARY_COLUMN, title[0], SUMMARY_COLUMN, title[1]);
		if (columns[i] == c->column)
			out_printf(o, "%*s", CHANGE, "CHANGE");
	}
	if (c->groups[0])
		out_printf(o, "%*s%*s%*s ", SPREAD, "SPREAD A", SPREAD, "SPREAD B", SPREAD - 1,
			   "P");
	out_printf(o, "  %s\n", c->b->title ? c->b->title : c->b->by_thread ? "THREAD" : "FUNCTION");
}

static void print_sums(const struct comparison *c, const char *const names[2], struct out *o)
{
	const struct summary *const sides[2] = { c->a, c->b };

	for (unsigned i = 0; i < 2; i++) {
		out_printf(o, "# %c: ", 'A' + i);
		out_foreign(o, names[i], SIZE_MAX);
		out_printf(o, ": %" PRIu64 " calls", compare_sum(sides[i], SUMMARY_CALLS));
		if (summary_is_timed(sides[i]) && !sides[i]->cut)
			out_printf(o, ", %" PRIu64 " ns", compare_sum(sides[i], SUMMARY_SELF));
		out_char(o, '\n');
	}
}

void compare_print(const struct comparison *c, const char *const names[2], size_t n, struct out *o)
{
	enum summary_column columns[3];
	const size_t n_columns = columns_of(c, columns);

	print_sums(c, names, o);
	print_heading(c, columns, n_columns, o);
	for (size_t i = 0; i < c->rows.n && (!n || i < n); i++) {
		const struct compared_row *r = &c->rows.at[i];

		for (size_t k = 0; k < n_columns; k++) {
			print_value(r->a, columns[k], o);
			print_value(r->b, columns[k], o);
			if (columns[k] == c->column)
				print_change(c, r, o);
		}
		if (c->groups[0])
			print_spread(c, r, o);
		print_name(r->b ? r->b : r->a,
			   2 * (unsigned)n_columns * SUMMARY_COLUMN + CHANGE + 2 +
				   (c->groups[0] ? SPREADS : 0), o);
	}
}

/* The numbers of the runs, and how far they are apart. */
static void print_values_json(const struct run_group *g, const double *values, struct out *o)
{
	struct group_spread s = group_spread(values, g->runs);

	out_printf(o, ",\"mean\":%.3f,\"deviation\":%.3f,\"runs\":[", s.mean, s.deviation);
	for (size_t i = 0; i < g->runs; i++)
		out_printf(o, "%s%.0f", i ? "," : "", values[i]);
	out_char(o, ']');
}

/* Fields are those of `report --json`; null: the side does not have the function. */
static void print_side_json(const struct summary *s, const struct run_group *g,
			    const struct summary_row *r, struct out *o)
{
	if (!r) {
		out_str(o, "null");
		return;
	}
	for (unsigned i = 0; i < SUMMARY_NUMBERS; i++) {
		out_printf(o, "%s\"%s%s\":", i ? "," : "{", summary_column_words[i],
			   i == SUMMARY_CALLS ? "" : "_ns");
		if (s->cut && i == SUMMARY_SELF)
			out_str(o, "null");
		else
			out_u64(o, r->value[i], 0, ' ');
	}
	if (g)
		print_values_json(g, group_values(g, r), o);
	out_char(o, '}');
}

/* A name, or of a group an array of them. */
static void print_files_json(const struct run_group *g, const char *name, struct out *o)
{
	if (!g) {
		json_string(o, name);
		return;
	}
	for (size_t i = 0; i < g->runs; i++) {
		out_char(o, i ? ',' : '[');
		json_string(o, g->files[i]);
	}
	out_char(o, ']');
}

static void print_sum_json(const struct summary *s, const struct run_group *g, struct out *o)
{
	out_printf(o, "{\"calls\":%" PRIu64 ",\"self_ns\":", compare_sum(s, SUMMARY_CALLS));
	if (s->cut)
		out_str(o, "null");
	else
		out_printf(o, "%" PRIu64, compare_sum(s, SUMMARY_SELF));
	if (g)
		print_values_json(g, g->sums, o);
	out_char(o, '}');
}

/* A line for each row; a side that lacks the function is null. */
void compare_print_json(const struct comparison *c, const char *const names[2], size_t n,
			struct out *o)
{
	out_str(o, "{\"schema\":\"brace-diff\",\"version\":1,\"files\":[");
	print_files_json(c->groups[0], names[0], o);
	out_char(o, ',');
	print_files_json(c->groups[1], names[1], o);
	out_str(o, "],\"a\":");
	print_sum_json(c->a, c->groups[0], o);
	out_str(o, ",\"b\":");
	print_sum_json(c->b, c->groups[1], o);
	if (c->groups[0])
		out_printf(o, ",\"column\":\"%s\",\"test\":\"welch\",\"p\":%.6g",
			   summary_column_words[c->column], compare_probability(c, NULL));
	out_str(o, "}\n");
	for (size_t i = 0; i < c->rows.n && (!n || i < n); i++) {
		const struct compared_row *r = &c->rows.at[i];

		out_str(o, "{\"name\":");
		json_string(o, (r->b ? r->b : r->a)->name);
		out_str(o, ",\"module\":");
		json_string(o, (r->b ? r->b : r->a)->module);
		out_str(o, ",\"a\":");
		print_side_json(c->a, c->groups[0], r->a, o);
		out_str(o, ",\"b\":");
		print_side_json(c->b, c->groups[1], r->b, o);
		if (c->groups[0])
			out_printf(o, ",\"p\":%.6g", compare_probability(c, r));
		out_str(o, "}\n");
	}
}
