/* SPDX-License-Identifier: MIT */
/* brace diff: the rows of two traces, or of two groups of them, side by side. main() calls it.
 * Fails on what brace report fails on; with --fail-over the exit status is 1 if the second trace
 * has grown by more. The main thread runs it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/flamegraph.h"
#include "model/units.h"
#include "report/compare.h"
#include "report/groups.h"
#include "ui/commands.h"
#include "ui/interrupt.h"
#include "ui/part_summary.h"
#include "ui/meter.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/trace_file.h"
#include "ui/word_list.h"

/* 1, and not EXIT_BRACE: CI tells a slower program from a command that failed. */
#define EXIT_GROWN 1

/* One trace file. */
struct diff_run {
	struct store_reader *reader;
	struct part_summary part;
	struct summary summary;
};

/* A file, or a group of them. */
struct diff_side {
	VEC(struct diff_run) runs;
	char *name;               /* of the files, for people */
	struct run_group group;   /* of several */
};

struct diff {
	const struct invocation *inv;
	enum part_rows rows;
	enum summary_column column;
	struct function_list functions;
	struct diff_side sides[2];
	bool grouped;
};

/* "A B", or "A1 A2 ... -- B1 B2 ...": which operands are B's. */
static int split_operands(struct diff *d)
{
	const struct invocation *inv = d->inv;
	/* The parser counts the words before `--` as questions. This command asks none: the number
	 * tells where the second group begins. */
	const int n_a = inv->is_program && inv->n_questions ? inv->n_questions : 1;
	const int n_b = inv->n_operands - n_a;

	d->grouped = n_a > 1 || n_b > 1;
	if (d->grouped && !(inv->is_program && inv->n_questions)) {
		say("brace: diff compares two files, or groups of them with -- between: brace diff A1 A2 A3 -- B1 B2 B3\n");
		return EXIT_BRACE;
	}
	if (d->grouped && (n_a < 2 || n_b < 2)) {
		say("brace: a single run has no spread: give two files, or at least two on each side of --\n");
		return EXIT_BRACE;
	}
	if (d->grouped && inv->of_diff.flamegraph) {
		say("brace: --flamegraph is of two files, not of groups\n");
		return EXIT_BRACE;
	}
	/* Readers are opened later: the line is checked whole first. The vectors do not grow any
	 * more, so that pointers to runs stay. */
	for (int i = 0; i < inv->n_operands; i++)
		*vec_add(&d->sides[i >= n_a].runs) = (struct diff_run){ 0 };
	return 0;
}

/* The first operand of a side. */
static char *const *files_of(const struct diff *d, unsigned side)
{
	return d->inv->operands + (side ? d->sides[0].runs.n : 0);
}

/* A group has the mean of its runs. */
static const struct summary *summary_of(const struct diff *d, unsigned side)
{
	return d->grouped ? &d->sides[side].group.mean : &d->sides[side].runs.at[0].summary;
}

/* Names of threads and processes have numbers, which no two runs share. */
static int check_rows(const struct diff *d)
{
	if (d->rows != PART_THREADS && d->rows != PART_PROCESSES)
		return 0;
	say("brace: rows by %s have numbers that differ from run to run; there are function and module\n",
	    d->inv->by);
	return EXIT_BRACE;
}

/* EXIT_BRACE: -s names no column of numbers (said). */
static int find_column(struct diff *d)
{
	static const struct word_list list = { "column", " to compare", summary_column_words,
					       SUMMARY_NUMBERS };

	d->column = d->inv->sort ? word_list_find(&list, d->inv->sort) : SUMMARY_SELF;
	return d->column == SUMMARY_NUMBERS ? EXIT_BRACE : 0;
}

/* *s is freed by free_side(), also after a failure. The meter shows each file by itself.
 * part_summary_check() comes last: an empty part is known only after the reading. */
static int read_run(struct diff *d, const char *file, struct diff_run *s)
{
	struct err err;
	int status = trace_file_open_path(d->inv, file, &s->reader);

	if (!status) {
		meter_begin(s->reader, file);
		status = part_summary_open(&s->part, d->inv, s->reader, d->rows, &d->functions);
	}
	if (!status && summary_make(&s->part.in, 0, &s->summary, &err))
		status = say_error(&err);
	meter_end();
	return status ? status : part_summary_check(&s->part);
}

/* "A1, A2, A3" */
static char *join_names(char *const *files, size_t n)
{
	char *all = mem_strdup(files[0]);

	for (size_t i = 1; i < n; i++) {
		char *longer = mem_printf("%s, %s", all, files[i]);

		free(all);
		all = longer;
	}
	return all;
}

/* The first file that cannot be read ends the command: a mean without it would be another one. */
static int read_side(struct diff *d, unsigned i)
{
	struct diff_side *s = &d->sides[i];
	int status = 0;

	s->name = join_names(files_of(d, i), s->runs.n);
	for (size_t k = 0; k < s->runs.n && !status; k++)
		status = read_run(d, files_of(d, i)[k], &s->runs.at[k]);
	return status;
}

/* One run without times leaves nothing to compare but calls. */
static bool is_timed(const struct diff_side *s)
{
	bool timed = true;

	for (size_t i = 0; i < s->runs.n; i++)
		timed &= summary_is_timed(&s->runs.at[i].summary);
	return timed;
}

/* One run that lacks its short calls (--threshold) has no self times to compare. summary.cut is the
 * threshold of the file. */
static bool is_cut(const struct diff_side *s)
{
	bool cut = false;

	for (size_t i = 0; i < s->runs.n; i++)
		cut |= s->runs.at[i].summary.cut;
	return cut;
}

/* Once the column is known. */
static void make_group(struct diff *d, struct diff_side *s)
{
	VEC(const struct summary *) all = { 0 };

	for (size_t i = 0; i < s->runs.n; i++)
		*vec_add(&all) = &s->runs.at[i].summary;
	/* The runs' trace_infos outlive the group: free_side() closes the readers after the
	 * summaries, and uses the group no more. */
	group_make(&s->group, all.at, all.n, d->column);
	vec_free(&all);
}

/* Also of a side that was not read to its end: what was not opened is zero. */
static void free_side(struct diff_side *s)
{
	for (size_t i = 0; i < s->runs.n; i++) {
		summary_free(&s->runs.at[i].summary);
		part_summary_close(&s->runs.at[i].part);
		store_close(s->runs.at[i].reader);
	}
	vec_free(&s->runs);
	group_free(&s->group);
	free(s->name);
}

/* Sums of other columns mean nothing. */
static int check_fail_over(const struct diff *d)
{
	if (!d->inv->of_diff.fails_over || d->column == SUMMARY_CALLS ||
	    d->column == SUMMARY_TOTAL || d->column == SUMMARY_SELF)
		return 0;
	say("brace: --fail-over compares calls, total or self, not %s\n",
	    summary_column_words[d->column]);
	return EXIT_BRACE;
}

/* Where one trace has no times, calls are compared; where it lacks self times, totals are. */
static int choose_column(struct diff *d)
{
	const bool timed = is_timed(&d->sides[0]) && is_timed(&d->sides[1]);
	const bool cut = is_cut(&d->sides[0]) || is_cut(&d->sides[1]);

	if (!d->inv->sort)
		d->column = !timed ? SUMMARY_CALLS : cut ? SUMMARY_TOTAL : SUMMARY_SELF;
	/* -s self asked for it by name: another column would be an answer to another question. */
	if (d->column == SUMMARY_SELF && cut) {
		say("brace: cannot compare self: short calls were not recorded (--threshold), and self time is not known\n");
		return EXIT_BRACE;
	}
	return 0;
}

/* "12.3 %" */
struct percent { char text[32]; };

/* By value: several stand in one call of printf. */
static struct percent percent_of(uint64_t hundredths)
{
	struct percent p;

	snprintf(p.text, sizeof(p.text), "%" PRIu64 ".%02" PRIu64 " %%", hundredths / 100,
		 hundredths % 100);
	return p;
}

/* The whole, or one row by that part of the whole. */
static int check_growth(const struct diff *d, const struct comparison *c)
{
	const char *column = summary_column_words[d->column];
	/* Hundredths of a percent, as --fail-over is. INT64_MAX: there was nothing to compare
	 * with. */
	const int64_t growth = compare_growth(compare_sum(c->a, d->column),
					      compare_sum(c->b, d->column));
	uint64_t part;
	const struct compared_row *worst = compare_worst(c, &part);
	const bool all = growth > (int64_t)d->inv->of_diff.fail_over &&
			 compare_probability(c, NULL) < GROUP_SIGNIFICANT;

	if (!d->inv->of_diff.fails_over || (!all && (!worst || part <= d->inv->of_diff.fail_over)))
		return 0;
	if (all && growth == INT64_MAX)
		say("brace: %s of all is new\n", column);
	else if (all)
		say("brace: %s of all grew by %s, more than %s\n", column,
		    percent_of((uint64_t)growth).text, percent_of(d->inv->of_diff.fail_over).text);
	if (worst)
		say("brace: %s of %s grew most, by %s of all\n", column, worst->b->name,
		    percent_of(part).text);
	return EXIT_GROWN;
}

/* Whether the row bears a place in a file, MODULE+0xOFFSET, for want of a name. */
static bool is_nameless(const struct summary_row *r)
{
	const char *offset = r ? strstr(r->name, "+0x") : NULL;

	return offset && offset[3] && !offset[3 + strspn(offset + 3, "0123456789abcdef")];
}

/* Another build, or the same one with its symbols, has other places: what looks gone or new may be
 * one function. Only rows that one side alone has: places that both have were compared, and are of
 * one build. */
static void warn_of_nameless(const struct diff *d, const struct comparison *c)
{
	uint64_t n[2] = { 0 };

	for (size_t i = 0; i < c->rows.n; i++) {
		const struct compared_row *r = &c->rows.at[i];

		n[0] += !r->b && is_nameless(r->a);
		n[1] += !r->a && is_nameless(r->b);
	}
	for (unsigned i = 0; i < 2; i++)
		if (n[i])
			say_warning("%" PRIu64 " function%s of %s %s no name (a stripped program?): "
				    "places in a file compare within one build only",
				    n[i], n[i] == 1 ? "" : "s", d->sides[i].name,
				    n[i] == 1 ? "has" : "have");
}

/* JSON has no colours. */
static int print_diff(const struct diff *d, const struct comparison *c)
{
	const struct invocation *inv = d->inv;
	const char *const names[2] = { d->sides[0].name, d->sides[1].name };
	struct screen o;

	screen_open(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_table);
	(inv->json ? compare_print_json : compare_print)(c, names, inv->limit, &o.text);
	return screen_close(&o, 0);
}

/* Begins to read a side again, for its stacks. */
static int begin_job(const struct diff *d, unsigned side, struct export_job *job)
{
	struct source *part;
	struct err err;

	/* A picture has two measures: -s calls draws calls, all other columns self time. */
	*job = (struct export_job){ .weight = d->column == SUMMARY_CALLS ? WEIGHT_CALLS
									    : WEIGHT_SELF,
				    .stop = interrupt_catch() };
	job->source = trace_file_openings(d->inv, d->sides[side].runs.at[0].reader, &part, &err);
	job->part = part;
	return job->source ? 0 : say_error(&err);
}

/* A stack that was folded stays in the sums, at its caller. */
static int write_flamegraph(const struct diff *d, struct export_job jobs[2], struct err *err)
{
	int r = flamegraph_write_difference(&jobs[0], d->inv->operands[0], &jobs[1], err);

	if (!r && jobs[0].folded + jobs[1].folded)
		say_warning("%" PRIu64
			    " calls were added to their callers: their stacks are too deep, or there are too many",
			    jobs[0].folded + jobs[1].folded);
	return r;
}

/* --flamegraph: the picture is whole or not there. */
static int draw_flamegraph(struct diff *d)
{
	struct export_job jobs[2] = { 0 };
	/* screen_open_whole() takes the file of -o: the copy has --flamegraph's in its place. It
	 * owns nothing, and is not freed. */
	struct invocation to = *d->inv;
	struct err err = { 0 };
	struct screen o;
	int status = begin_job(d, 0, &jobs[0]);

	if (!status)
		status = begin_job(d, 1, &jobs[1]);
	to.output = d->inv->of_diff.flamegraph;
	if (!status)
		status = screen_open_whole(&o, &to);
	if (!status) {
		jobs[1].out = &o.text;
		if (write_flamegraph(d, jobs, &err))
			status = say_error(&err);
		status = screen_close(&o, status);
	}
	for (unsigned i = 0; i < 2; i++)
		if (jobs[i].source)
			jobs[i].source->ops->close(jobs[i].source);
	return status;
}

/* The picture comes before the table, so that its failure is not scrolled away. */
static int compare_sides(struct diff *d)
{
	struct comparison c;
	int status = choose_column(d);

	if (status)
		return status;
	if (d->inv->of_diff.flamegraph)
		status = draw_flamegraph(d);
	if (status)
		return status;
	for (unsigned i = 0; i < 2 && d->grouped; i++) {
		make_group(d, &d->sides[i]);
		/* Operands of the command line, which outlive the group. */
		d->sides[i].group.files = files_of(d, i);
	}
	compare_make(&c, summary_of(d, 0), summary_of(d, 1), d->column);
	for (unsigned i = 0; i < 2 && d->grouped; i++)
		c.groups[i] = &d->sides[i].group;
	compare_sort(&c, d->inv->reverse);
	status = print_diff(d, &c);
	warn_of_nameless(d, &c);
	if (!status)
		status = check_growth(d, &c);
	compare_free(&c);
	return status;
}

/* The line is checked whole before a file is read. */
int cmd_diff(struct invocation *inv)
{
	struct diff d = { .inv = inv };
	int status = split_operands(&d);

	/* Sums of a part count the piece of a call that lies in it, as brace report's do. */
	inv->excerpt.clips = true;
	status = status ? status : find_column(&d);
	status = status ? status : part_summary_rows(inv, &d.rows);
	status = status ? status : check_rows(&d);
	status = status ? status : check_fail_over(&d);
	status = status ? status : part_summary_functions(inv, &d.functions);
	for (unsigned i = 0; i < 2 && !status; i++)
		status = read_side(&d, i);
	if (!status)
		status = compare_sides(&d);
	for (unsigned i = 0; i < 2; i++)
		free_side(&d.sides[i]);
	function_list_free(&d.functions);
	return status;
}
