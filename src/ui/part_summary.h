/* SPDX-License-Identifier: MIT */
/* The options of report and diff that choose rows, as the input of a summary: the part of a file,
 * and the kind of rows. All functions say what is wrong and return EXIT_BRACE. */
#pragma once
#include "excerpt/excerpt.h"
#include "report/regroup.h"
#include "ui/invocation.h"

/* The kinds of rows: words of --by, and the options that name a function. */
enum part_rows {
	PART_FUNCTIONS, PART_THREADS, PART_MODULES, PART_FILES, PART_LINES,
	PART_PROCESSES, PART_CALLERS, PART_CALLEES,
	PART_ROWS_N
};

struct part_summary {
	struct excerpt *excerpt;  /* NULL: all of the file */
	struct regroup *regroup;  /* or NULL */
	struct summary_input in;
};

/* --by, --callers, --callees. */
int part_summary_rows(const struct invocation *inv, enum part_rows *out);
/* Says what is wrong with a text that names no function, EXIT_BRACE; 0 for another one, or NULL. */
int part_summary_check_name(const char *option, const char *text);
/* The functions of --callers or --callees; empty if neither is given. */
int part_summary_functions(const struct invocation *inv, struct function_list *out);
/* "function that was called": what a row is, for sentences. */
const char *part_rows_called(enum part_rows rows);

/* EXIT_BRACE: the trace lacks calls that lie in calls, or their ends, which `option` needs. */
int part_summary_check_graph(const char *option, const struct trace_info *info);
/* Makes p->in; part_summary_close() frees it in any case, before the reader and `functions` go. */
int part_summary_open(struct part_summary *p, const struct invocation *inv,
		      struct store_reader *reader, enum part_rows rows,
		      const struct function_list *functions);
/* After the reading: whether anything was left of the part. */
int part_summary_check(const struct part_summary *p);
void part_summary_close(struct part_summary *p);
