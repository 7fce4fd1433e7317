/* SPDX-License-Identifier: MIT */
/* brace report: one row for each function, or each thread, of a trace file. main() calls it; the
 * file is summed up on several threads (report/summary.h), and printed on this one. Fails on a file
 * that cannot be read, an unknown column, and patterns that match nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "report/summary.h"
#include "ui/commands.h"
#include "ui/globs.h"
#include "ui/screen.h"
#include "ui/say.h"
#include "ui/trace_file.h"

/* Without -s a column that always exists; print_report then chooses by what the trace has.
 * EXIT_BRACE: no such column. */
static int sort_column(const struct invocation *inv, enum summary_column *out)
{
	*out = inv->sort ? summary_column_find(inv->sort) : SUMMARY_NAME;
	if (*out != SUMMARY_COLUMNS_N)
		return 0;
	say("brace: no column %s to sort by; there are", inv->sort);
	for (unsigned c = 0; c < SUMMARY_COLUMNS_N; c++)
		say("%s %s", c ? "," : "", summary_column_words[c]);
	say("\n");
	return EXIT_BRACE;
}

/* EXIT_BRACE: there are no such rows. */
static int rows_by(const struct invocation *inv, bool *by_thread)
{
	*by_thread = inv->by && strcmp(inv->by, "thread") == 0;
	if (!inv->by || *by_thread || strcmp(inv->by, "function") == 0)
		return 0;
	say("brace: no rows by %s; there are function and thread\n", inv->by);
	return EXIT_BRACE;
}

/* Compares with and without the parameters that the name may have to tell it from others. */
static bool row_matches(const struct function_list *globs, const struct summary_row *row)
{
	char *plain;
	bool match = function_list_match(globs, row->name, row->module);

	if (match)
		return true;
	plain = mem_strdup(row->name);
	match = demangle_cut(plain) && function_list_match(globs, plain, row->module);
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

static const char *what_called(const struct summary *s)
{
	return s->by_thread ? "thread that called" : "function that was called";
}

/* A pattern that matches no function of the trace is a slip: warns, or fails if nothing is left to
 * show. */
static int check_matched(const struct summary *s, const struct function_list *globs)
{
	for (size_t i = 0; i < globs->patterns.n; i++) {
		const struct function_pattern *p = &globs->patterns.at[i];
		struct function_list one = { 0 };
		/* Each pattern is tried alone, since in the list a later one may overrule it. A
		 * pattern with `!` needs no match. */
		bool found = p->remove;

		function_list_write(&one, p->text, false, NULL);
		for (size_t k = 0; k < s->rows.n && !found; k++)
			found = row_matches(&one, &s->rows.at[k]);
		function_list_free(&one);
		if (!found && s->rows.n)
			say_warning("no %s matches `%s`", what_called(s), p->text);
	}
	if (s->rows.n)
		return 0;
	say("brace: no %s matches: brace report without a name lists those that %s\n", what_called(s),
	    s->by_thread ? "did" : "were");
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

/* The rows are made of all functions first: times of a function count those it calls, matched or
 * not. */
static int print_report(const struct invocation *inv, struct store_reader *reader,
		  bool by_thread, enum summary_column column, const struct function_list *globs)
{
	struct summary_input in = summary_from_store(reader);
	struct summary s = { 0 };
	struct err err;
	int status;

	in.by_thread = by_thread;
	if (summary_make(&in, 0, &s, &err)) {
		status = say_error(&err);
	} else if (s.cut && (column == SUMMARY_SELF || (by_thread && column == SUMMARY_TOTAL))) {
		say("brace: cannot sort by %s: short calls were not recorded (--threshold), and self time is not known\n",
		    summary_column_words[column]);
		status = EXIT_BRACE;
	} else {
		status = 0;
		if (globs->patterns.n) {
			keep_matching(&s, globs);
			status = check_matched(&s, globs);
		}
		summary_sort(&s, inv->sort ? column : summary_default_column(&s), inv->reverse);
		if (!status)
			status = print_summary(inv, &s);
	}
	summary_free(&s);
	return status;
}

/* All of the line is checked before the file is read: that may take minutes. */
int cmd_report(struct invocation *inv)
{
	struct function_list globs = { 0 };
	struct store_reader *reader;
	enum summary_column column;
	bool by_thread;
	int status = sort_column(inv, &column);

	if (!status)
		status = rows_by(inv, &by_thread);
	if (!status)
		status = globs_read(&globs, inv->operands, inv->n_operands, 1);
	if (!status)
		status = trace_file_open(inv, &reader);
	if (!status) {
		status = print_report(inv, reader, by_thread, column, &globs);
		store_close(reader);
	}
	function_list_free(&globs);
	return status;
}
