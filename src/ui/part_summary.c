/* SPDX-License-Identifier: MIT */
/* Called by cmd/report.c and cmd/diff.c, on brace's only thread. Fails on words and functions that
 * are none, and on traces that lack what is asked for. */
#include "ui/part_summary.h"

#include <errno.h>
#include <string.h>

#include "model/tracer.h"
#include "ui/say.h"

#define BY_WORDS PART_CALLERS /* so many are words of --by */

static const struct { const char *word, *called; } rows_of[PART_ROWS_N] = {
	[PART_FUNCTIONS] = { "function", "function that was called" },
	[PART_THREADS] = { "thread", "thread that called" },
	[PART_MODULES] = { "module", "file with a function that was called" },
	[PART_FILES] = { "file", "file of the source with a function that was called" },
	[PART_LINES] = { "line", "line of the source with a function that was called" },
	[PART_PROCESSES] = { "process", "process that called" },
	[PART_CALLERS] = { NULL, "function that calls it" },
	[PART_CALLEES] = { NULL, "function that it calls" },
};

const char *part_rows_called(enum part_rows rows)
{
	return rows_of[rows].called;
}

int part_summary_rows(const struct invocation *inv, enum part_rows *out)
{
	*out = inv->callers ? PART_CALLERS : inv->callees ? PART_CALLEES : PART_FUNCTIONS;
	if (!inv->by)
		return 0;
	for (*out = 0; *out < BY_WORDS; ++*out)
		if (!strcmp(inv->by, rows_of[*out].word))
			return 0;
	say("brace: no rows by %s; there are", inv->by);
	for (unsigned i = 0; i < BY_WORDS; i++)
		say("%s %s", i ? "," : "", rows_of[i].word);
	say("\n");
	return EXIT_BRACE;
}

int part_summary_functions(const struct invocation *inv, struct function_list *out)
{
	const char *text = inv->callers ? inv->callers : inv->callees;
	struct err err;

	return text && function_list_write(out, text, false, &err) ? say_error(&err) : 0;
}

/* Options about calls in calls need a trace that has the graph. */
static int check_nesting(const struct invocation *inv, const struct trace_info *info)
{
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : &tracer_function_graph;
	const char *option = inv->callers     ? "--callers"
			     : inv->callees   ? "--callees"
			     : inv->call_tree ? "--tree"
					      : NULL;

	if (!option || (t && t->exits && !info->thresh_ns))
		return 0;
	say("brace: %s needs all calls and their ends, which the trace does not have (%s)\n",
	    option, info->thresh_ns ? "--threshold" : "-t function");
	return EXIT_BRACE;
}

static int regroup(struct part_summary *p, enum part_rows rows,
		   const struct function_list *functions)
{
	static const enum regroup_by by[PART_ROWS_N] = {
		[PART_MODULES] = REGROUP_MODULE, [PART_FILES] = REGROUP_FILE,
		[PART_LINES] = REGROUP_LINE, [PART_PROCESSES] = REGROUP_PROCESS,
		[PART_CALLERS] = REGROUP_CALLERS, [PART_CALLEES] = REGROUP_CALLEES,
	};
	struct err err;

	p->regroup = regroup_new(&p->in, by[rows], functions);
	p->in = regroup_input(p->regroup);
	if (rows < PART_CALLERS || regroup_has_functions(p->regroup))
		return 0;
	err_at(&err, ENOENT, functions->patterns.at[0].text, 0,
	       "no function of the trace matches: brace report lists those that were called");
	return say_error(&err);
}

/* Without options that choose a part all workers read the file itself. */
int part_summary_open(struct part_summary *p, const struct invocation *inv,
		      struct store_reader *reader, enum part_rows rows,
		      const struct function_list *functions)
{
	struct err err;
	int status = check_nesting(inv, store_info(reader));

	if (status)
		return status;
	p->in = summary_from_store(reader);
	if (!excerpt_wish_is_all(&inv->excerpt)) {
		if (excerpt_open(&inv->excerpt, reader, &p->excerpt, &err))
			return say_error(&err);
		excerpt_clip(p->excerpt);
		p->in = summary_from_excerpt(p->excerpt, reader);
	}
	p->in.by_thread = rows == PART_THREADS;
	return rows > PART_THREADS ? regroup(p, rows, functions) : 0;
}

int part_summary_check(const struct part_summary *p)
{
	struct err err;

	return p->excerpt && excerpt_is_empty(p->excerpt, &err) ? say_error(&err) : 0;
}

void part_summary_close(struct part_summary *p)
{
	regroup_free(p->regroup);
	excerpt_close(p->excerpt);
	*p = (struct part_summary){ 0 };
}
