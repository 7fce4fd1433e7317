/* SPDX-License-Identifier: MIT */
/* brace report: a row for each function of a trace file, or for each thread, process or module;
 * whom a function calls, who calls it; the tree of calls, and one function's histogram. main()
 * calls it; the file is summed up on several threads (report/summary.h), and printed on this one.
 * Fails on a file that cannot be read, an unknown column, and patterns that match nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "report/durations.h"
#include "report/kernel_times.h"
#include "report/path_sums.h"
#include "report/thread_counters.h"
#include "ui/commands.h"
#include "ui/globs.h"
#include "ui/part_summary.h"
#include "ui/screen.h"
#include "ui/say.h"
#include "ui/trace_file.h"
#include "ui/word_list.h"

/* Whether -s names a column of --counters. */
static bool by_counter(const struct invocation *inv)
{
	return inv->counters && inv->sort && summary_counter_find(inv->sort) != SUMMARY_COUNTERS;
}

/* Without -s a column that always exists; sort_rows() then chooses by what the trace has.
 * EXIT_BRACE: no such column (said). Words of counters are looked for first: a column of one list
 * is none of the other. */
static int choose_column(const struct invocation *inv, enum summary_column *out)
{
	static const struct word_list list = { "column", " to sort by", summary_column_words,
					       SUMMARY_COLUMNS_N };

	*out = inv->sort && !by_counter(inv) ? word_list_find(&list, inv->sort) : SUMMARY_NAME;
	return *out == SUMMARY_COLUMNS_N ? EXIT_BRACE : 0;
}

struct report;

/* One thing that the report can show. */
struct report_view {
	const char *option;       /* that asks for it; NULL: it is shown without one */
	bool (*is_asked)(const struct invocation *inv);
	int (*print)(struct report *r); /* all of it, or says what is wrong; the exit status */
	bool names_functions;     /* with its argument, so it refuses -l */
};

struct report {
	const struct invocation *inv;
	const struct report_view *view;
	struct store_reader *reader;
	struct part_summary part;
	enum part_rows rows;      /* of a view that has rows */
	enum summary_column column;
	struct kernel_times *kernel; /* or NULL */
	struct thread_counters *counters; /* or NULL */
	struct function_list globs, functions; /* operands; of --callers and its like */
};

/* Compares with and without the parameters, or the address, that the name may have to tell it from
 * others. */
static bool row_matches(const struct function_list *globs, const struct summary_row *row)
{
	char *plain = mem_strdup(row->name);
	char *at = strstr(plain, "@0x");
	uint64_t address = at ? strtoull(at + 1, NULL, 16) : 0;
	bool match;

	if (at)
		*at = 0;
	match = function_list_has_at(globs, plain, address, row->module) ||
		(demangle_cut(plain) && function_list_match(globs, plain, row->module));
	free(plain);
	return match;
}

/* Frees the names of the rows that go; summary_free frees the others. */
static void keep_matching(struct summary *s, const struct function_list *globs)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		if (row_matches(globs, &s->rows.at[i]))
			s->rows.at[kept++] = s->rows.at[i];
		else
			free(s->rows.at[i].name);
	}
	s->rows.n = kept;
}

/* A pattern that matches no function of the trace is a slip: warns, or fails if nothing is left to
 * show. */
static int check_matched(const struct report *r, const struct summary *s)
{
	for (size_t i = 0; i < r->globs.patterns.n; i++) {
		const struct function_pattern *p = &r->globs.patterns.at[i];
		struct function_list one = { 0 };
		/* Each pattern is tried alone, since in the list a later one may overrule it. A
		 * pattern with `!` needs no match. */
		bool found = p->remove;

		function_list_write(&one, p->text, false, NULL);
		for (size_t k = 0; k < s->rows.n && !found; k++)
			found = row_matches(&one, &s->rows.at[k]);
		function_list_free(&one);
		if (!found && s->rows.n)
			say_warning("no %s matches `%s`", part_rows_called(r->rows), p->text);
	}
	if (s->rows.n)
		return 0;
	say("brace: no %s matches: brace report without a name lists those that %s\n",
	    part_rows_called(r->rows), r->rows == PART_FUNCTIONS ? "were" : "did");
	return EXIT_BRACE;
}

/* JSON is for programs: it gets no colours. */
static int print_summary(const struct invocation *inv, const struct summary *s)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_table);
	(inv->json ? summary_print_json : summary_print_table)(s, inv->limit, &o.text);
	return screen_close(&o, 0);
}

/* EXIT_BRACE: the column has no values here. */
static int check_column(const struct report *r, const struct summary *s)
{
	if (!s->kernel && (r->column == SUMMARY_KERNEL || r->column == SUMMARY_BLOCKED)) {
		say("brace: cannot sort by %s: only functions of a program that was recorded with the kernel (record -k) have it\n",
		    summary_column_words[r->column]);
		return EXIT_BRACE;
	}
	if (!s->cut || (r->column != SUMMARY_SELF &&
			!(r->rows == PART_THREADS && r->column == SUMMARY_TOTAL)))
		return 0;
	say("brace: cannot sort by %s: short calls were not recorded (--threshold), and self time is not known\n",
	    summary_column_words[r->column]);
	return EXIT_BRACE;
}

/* Without -s by what the trace has: a trace of the function tracer has no times to sort by. */
static void sort_rows(const struct report *r, struct summary *s)
{
	const struct invocation *inv = r->inv;

	if (by_counter(inv))
		summary_sort_counter(s, summary_counter_find(inv->sort), inv->reverse);
	else
		summary_sort(s, inv->sort ? r->column : summary_default_column(s), inv->reverse);
}

/* Makes r->part, which cmd_report() closes. EXIT_BRACE: said. */
static int open_part(struct report *r)
{
	int status = part_summary_open(&r->part, r->inv, r->reader, r->rows, &r->functions);

	r->part.in.kernel = r->kernel;
	r->part.in.counters = r->counters;
	return status;
}

/* The rows are made of all functions first: times of a function count those it calls, matched or
 * not. */
static int print_rows(struct report *r)
{
	const struct invocation *inv = r->inv;
	struct summary s = { 0 };
	struct err err;
	int status = open_part(r);

	if (status)
		return status;
	if (summary_make(&r->part.in, 0, &s, &err))
		status = say_error(&err);
	else
		status = check_column(r, &s);
	if (!status)
		status = part_summary_check(&r->part);
	if (!status && r->globs.patterns.n) {
		keep_matching(&s, &r->globs);
		status = check_matched(r, &s);
	}
	if (!status) {
		sort_rows(r, &s);
		status = print_summary(inv, &s);
	}
	summary_free(&s);
	return status;
}

/* EXIT_BRACE, said, for a trace without returns: its calls lie in nothing. */
static int print_tree(struct report *r)
{
	struct path_sums t;
	struct screen o;
	struct err err;
	int status = part_summary_check_graph(r->view->option, store_info(r->reader));

	status = status ? status : open_part(r);
	if (status)
		return status;
	status = path_sums_make(&r->part.in, &t, &err) < 0 ? say_error(&err)
							   : part_summary_check(&r->part);
	if (!status) {
		screen_open(&o, r->inv, SCREEN_PAGED, r->inv->json ? NULL : paint_table);
		(r->inv->json ? path_sums_print_json : path_sums_print)(&t, r->inv->limit, &o.text);
		status = screen_close(&o, 0);
	}
	path_sums_free(&t);
	return status;
}

/* Read event by event in one thread: a histogram is of few functions, and the excerpt has left
 * out the others. */
static int print_histogram(struct report *r)
{
	struct durations *d;
	struct source *source;
	struct event e;
	struct screen o;
	struct err err;
	int got;

	source = trace_file_source(r->inv, r->reader, &err);
	if (!source)
		return say_error(&err);
	d = durations_new(source->info);
	while ((got = source->ops->next(source, &e, &err)) > 0)
		if (trace_info_shows(source->info, e.thread))
			durations_event(d, &e);
	durations_end(d);
	if (!got)
		got = excerpt_source_is_empty(source, &err);
	if (!got) {
		screen_open(&o, r->inv, SCREEN_PAGED, NULL);
		(r->inv->json ? durations_print_json : durations_print)(d, r->inv->limit, &o.text);
	}
	durations_free(d);
	source->ops->close(source);
	return got ? say_error(&err) : screen_close(&o, 0);
}

/* --- the views -------------------------------------------------------------------------------- */

#define IS_ASKED(option) \
	static bool asks_##option(const struct invocation *inv) { return inv->option; }
IS_ASKED(by)
IS_ASKED(callers)
IS_ASKED(callees)
IS_ASKED(call_tree)
IS_ASKED(histogram)

/* At most one of those with an option. The last one stands for a line with none of them. */
static const struct report_view views[] = {
	{ "--by", asks_by, print_rows },
	{ "--callers", asks_callers, print_rows },
	{ "--callees", asks_callees, print_rows },
	{ "--tree", asks_call_tree, print_tree },
	{ "--histogram", asks_histogram, print_histogram, .names_functions = true },
	{ NULL, NULL, print_rows },
};

/* EXIT_BRACE: two options that each say what is printed, or one beside which another has no
 * meaning (said). */
static int choose_view(struct report *r)
{
	const struct report_view *v = views, *asked = NULL;

	for (; v->option; v++) {
		if (!v->is_asked(r->inv))
			continue;
		if (asked) {
			say("brace: %s and %s each say what to print: give one of them\n",
			    asked->option, v->option);
			return EXIT_BRACE;
		}
		asked = v;
	}
	r->view = asked ? asked : v;
	if (r->view->names_functions && r->inv->excerpt.functions.patterns.n) {
		say("brace: %s names the functions already: leave -l out\n", r->view->option);
		return EXIT_BRACE;
	}
	return 0;
}

/* Each function's own row: the only view in which a call counts once, under its name. */
static bool shows_functions(const struct report *r)
{
	return r->view->print == print_rows && r->rows == PART_FUNCTIONS;
}

/* --- what else is read of the trace ----------------------------------------------------------- */

/* A filter of threads (struct store_part): the others are not read. */
static bool is_kernels(const void *reader, uint32_t thread)
{
	return trace_info_is_kernel_thread(store_info((struct store_reader *)reader), thread);
}

/* The program's functions of a trace of both come with their times in the kernel; with -k the
 * kernel's own come alone. EXIT_BRACE: there is nothing of the kernel. */
static int choose_side(struct report *r)
{
	const struct store_part part = { .wants = is_kernels, .arg = r->reader };
	struct trace_info *info = store_info(r->reader);
	struct source *source;
	struct err err;
	int e;

	if (r->inv->kernel && !trace_info_has_kernel(info)) {
		say("brace: the trace has nothing of the kernel: brace record -k records both\n");
		return EXIT_BRACE;
	}
	if (!trace_info_is_merged(info))
		return 0;
	info->sides = r->inv->kernel ? SIDE_KERNEL : SIDE_USER;
	if (r->inv->kernel || !shows_functions(r))
		return 0;
	source = store_source_part(r->reader, &part);
	e = kernel_times_make(source, &r->kernel, &err);
	source->ops->close(source);
	return e ? say_error(&err) : 0;
}

/* With --counters: rows are of functions, since a call counts in one row only. */
static int read_counters(struct report *r)
{
	struct source *source;
	struct err err;
	int e;

	if (!r->inv->counters)
		return 0;
	if (!shows_functions(r)) {
		say("brace: --counters is for rows of functions: leave --by, --callers, --callees, "
		    "--tree and --histogram out\n");
		return EXIT_BRACE;
	}
	if (thread_counters_check(store_info(r->reader), &err))
		return say_error(&err);
	source = store_source(r->reader);
	e = thread_counters_make(source, &r->counters, &err);
	source->ops->close(source);
	return e ? say_error(&err) : 0;
}

/* The order: which threads are read, then what else is needed of them, then the view. */
static int print_report(struct report *r)
{
	int status;

	trace_file_meter(r->inv, r->reader);
	status = choose_side(r);

	status = status ? status : read_counters(r);
	return status ? status : r->view->print(r);
}

/* The functions that an option names, before the file is read. */
static int read_functions(struct report *r, struct invocation *inv)
{
	struct err err;

	if (part_summary_check_name("--histogram", inv->histogram))
		return EXIT_BRACE;
	if (inv->histogram)
		inv->excerpt.functions_option = "--histogram";
	if (inv->histogram && excerpt_spec_add(&inv->excerpt, "filter", inv->histogram, &err))
		return say_error(&err);
	return part_summary_functions(inv, &r->functions);
}

/* All of the line is checked before the file is read: that may take minutes. */
int cmd_report(struct invocation *inv)
{
	struct report r = { .inv = inv };
	int status = choose_column(inv, &r.column);

	status = status ? status : part_summary_rows(inv, &r.rows);
	status = status ? status : choose_view(&r);
	status = status ? status : read_functions(&r, inv);
	status = status ? status : globs_read(&r.globs, inv->operands, inv->n_operands, 1);
	status = status ? status : trace_file_open(inv, &r.reader);
	if (!status)
		status = print_report(&r);
	part_summary_close(&r.part);
	kernel_times_free(r.kernel);
	thread_counters_free(r.counters);
	trace_file_close(r.reader);
	function_list_free(&r.globs);
	function_list_free(&r.functions);
	return status;
}
