/* SPDX-License-Identifier: MIT */
/* The views of `brace report` and of `brace diff`, of any trace file that can be read: the calls
 * added up by callers, callees, modules and processes, the tree of paths, and summaries side by
 * side. All of their text may be given to a terminal. */
#include "base/escape.h"
#include "report/compare.h"
#include "report/path_sums.h"
#include "report/regroup.h"
#include "report/summary.h"
#include "store/store.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define RECORDS_MOST 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *arg, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f)
			abort();
	if (escape_text_run(bytes, n) != n)
		abort();
	return 0;
}

static uint64_t calls_of(const struct summary *s)
{
	return compare_sum(s, SUMMARY_CALLS);
}

/* Each side is a summary; a trace beside itself has not changed. */
static void print_compared(const struct summary *a, const struct summary *b, struct out *out)
{
	static const char *const names[] = { "a", "\x1b[31mb" };

	for (enum summary_column column = 0; column < SUMMARY_NUMBERS; column++) {
		struct comparison c;
		uint64_t part;

		compare_make(&c, a, b, column);
		compare_sort(&c, column % 2);
		if (c.rows.n < a->rows.n || c.rows.n > a->rows.n + b->rows.n)
			abort();
		if (compare_worst(&c, &part) && a == b)
			abort();
		compare_growth(compare_sum(a, column), compare_sum(b, column));
		compare_print(&c, names, 0, out);
		compare_print_json(&c, names, 3, out);
		compare_free(&c);
	}
}

/* Calls count for another row, and none is made by that; events, which count in `whole`, are in no
 * module and no process. */
static void regroup_all(const struct summary_input *in, const struct summary *whole, struct out *out)
{
	for (enum regroup_by by = REGROUP_CALLERS; by <= REGROUP_PROCESS; by++) {
		bool some = by == REGROUP_CALLERS || by == REGROUP_CALLEES;
		struct function_list all = { 0 };
		struct summary_input regrouped;
		struct regroup *g;
		struct summary s;
		struct err err;

		function_list_write(&all, "*", false, &err);
		g = regroup_new(in, by, some ? &all : NULL);
		regrouped = regroup_input(g);
		regroup_has_functions(g);
		if (!summary_make(&regrouped, 2, &s, &err)) {
			if (!some && calls_of(&s) > calls_of(whole))
				abort();
			summary_sort(&s, SUMMARY_NAME, false);
			summary_print_table(&s, 0, out);
			summary_print_json(&s, 2, out);
			print_compared(whole, &s, out);
			summary_free(&s);
		}
		regroup_free(g);
		function_list_free(&all);
	}
}

static void add_paths(const struct summary_input *in, struct out *out)
{
	struct path_sums t;
	struct err err;

	if (!path_sums_make(in, &t, &err)) {
		path_sums_print(&t, 0, out);
		path_sums_print_json(&t, 5, out);
	}
	path_sums_free(&t);
}

static bool is_same_row(const struct summary_row *a, const struct summary_row *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->module, b->module) && a->timed == b->timed &&
	       !memcmp(a->value, b->value, sizeof(a->value));
}

/* The sums do not depend on whether events are made of the records first. */
static void add_up_both_ways(const struct summary_input *in, bool by_thread)
{
	struct summary_input words = *in, events = *in;
	struct summary a = { 0 }, b = { 0 };
	struct err err;
	int r, s;

	events.words = NULL;
	words.by_thread = events.by_thread = by_thread;
	r = summary_make(&words, 2, &a, &err);
	s = summary_make(&events, 2, &b, &err);
	if (r != s || memcmp(&a.counts, &b.counts, sizeof(a.counts)) || a.rows.n != b.rows.n)
		abort();
	summary_sort(&a, SUMMARY_NAME, false);
	summary_sort(&b, SUMMARY_NAME, false);
	for (size_t i = 0; i < a.rows.n; i++)
		if (!is_same_row(&a.rows.at[i], &b.rows.at[i]))
			abort();
	summary_free(&a);
	summary_free(&b);
}

static void view(struct store_reader *r)
{
	const struct summary_input in = summary_from_store(r);
	struct summary whole;
	struct out out;
	struct err err;

	out_init(&out, look, NULL);
	if (!summary_make(&in, 2, &whole, &err)) {
		print_compared(&whole, &whole, &out);
		regroup_all(&in, &whole, &out);
		summary_free(&whole);
	}
	add_paths(&in, &out);
	add_up_both_ways(&in, false);
	add_up_both_ways(&in, true);
	/* Without what recording cost. */
	store_info(r)->net = true;
	if (!summary_make(&in, 2, &whole, &err)) {
		summary_print_json(&whole, 0, &out);
		summary_free(&whole);
	}
	add_up_both_ways(&in, false);
	out_free(&out);
}

static void view_bytes(const uint8_t *bytes, size_t n)
{
	struct store_description about;
	struct store_reader *r;
	struct err err;

	if (store_open_bytes("fuzz", bytes, n, &r, &err))
		return;
	store_describe(r, &about);
	if (about.records <= RECORDS_MOST)
		view(r);
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return trace_file_run(data, size, view_bytes);
}
