/* SPDX-License-Identifier: MIT */
/* Called by cmd/report.c and cmd/diff.c, on brace's only thread. Fails on words and functions that
 * are none, and on traces that lack what is asked for. */
#include "ui/part_summary.h"

#include <errno.h>
#include <string.h>

#include "model/tracer.h"
#include "ui/say.h"
#include "ui/word_list.h"

/* The words by which the kinds of rows are known. */
static const struct {
	const char *option; /* that asks for them and needs the graph; NULL: --by, or none */
	const char *called; /* in sentences: "no ... matches" */
	enum regroup_by by; /* of those behind PART_THREADS: a summary has the others itself */
} rows_of[PART_ROWS_N] = {
	[PART_FUNCTIONS] = { NULL, "function that was called" },
	[PART_THREADS] = { NULL, "thread that called" },
	[PART_MODULES] = { NULL, "file with a function that was called", REGROUP_MODULE },
	[PART_FILES] = { NULL, "file of the source with a function that was called", REGROUP_FILE },
	[PART_LINES] = { NULL, "line of the source with a function that was called", REGROUP_LINE },
	[PART_PROCESSES] = { NULL, "process that called", REGROUP_PROCESS },
	[PART_CALLERS] = { "--callers", "function that calls it", REGROUP_CALLERS },
	[PART_CALLEES] = { "--callees", "function that it calls", REGROUP_CALLEES },
};

/* Words of --by; their rows stand before those that options of their own ask for. */
static const char *const by_words[PART_CALLERS] = {
	[PART_FUNCTIONS] = "function", [PART_THREADS] = "thread", [PART_MODULES] = "module",
	[PART_FILES] = "file", [PART_LINES] = "line", [PART_PROCESSES] = "process",
};

const char *part_rows_called(enum part_rows rows)
{
	return rows_of[rows].called;
}

int part_summary_rows(const struct invocation *inv, enum part_rows *out)
{
	/* Its words end at PART_CALLERS, which therefore is word_list_find()'s answer for "none of
	 * them" (said). */
	static const struct word_list list = { "rows by", "", by_words, PART_CALLERS };

	*out = inv->callers ? PART_CALLERS : inv->callees ? PART_CALLEES : PART_FUNCTIONS;
	if (!inv->by)
		return 0;
	*out = word_list_find(&list, inv->by);
	return *out == PART_CALLERS ? EXIT_BRACE : 0;
}

int part_summary_check_name(const char *option, const char *text)
{
	struct err err;

	if (!text || text[strspn(text, " \t\n")])
		return 0;
	err_at(&err, EINVAL, text, 0, "%s names a function: a name, or a pattern", option);
	return say_error(&err);
}

int part_summary_functions(const struct invocation *inv, struct function_list *out)
{
	const char *text = inv->callers ? inv->callers : inv->callees;
	struct err err;

	if (part_summary_check_name(inv->callers ? "--callers" : "--callees", text))
		return EXIT_BRACE;
	return text && function_list_write(out, text, false, &err) ? say_error(&err) : 0;
}

int part_summary_check_graph(const char *option, const struct trace_info *info)
{
	/* A trace of an older brace has no tracer's name: there was only function_graph then. A
	 * name that this brace does not know tells nothing of exits. */
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : &tracer_function_graph;

	if (t && t->exits && !info->thresh_ns)
		return 0;
	say("brace: %s needs all calls and their ends, which the trace does not have (%s)\n",
	    option, info->thresh_ns ? "--threshold" : "-t function");
	return EXIT_BRACE;
}

/* Puts a summary with rows of another kind before p->in. EXIT_BRACE: none of `functions` is in the
 * trace (said). */
static int regroup_rows(struct part_summary *p, enum part_rows rows,
			const struct function_list *functions)
{
	struct err err;

	p->regroup = regroup_new(&p->in, rows_of[rows].by, functions);
	/* The regroup has copied the input that it reads; p->in is now what it gives.
	 * part_summary_close() frees it before the excerpt under it. */
	p->in = regroup_input(p->regroup);
	if (regroup_failure(p->regroup, &err))
		return say_error(&err);
	/* --by has no functions to be found. */
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
	const char *option = rows_of[rows].option;
	struct err err;

	if (option && part_summary_check_graph(option, store_info(reader)))
		return EXIT_BRACE;
	p->in = summary_from_store(reader);
	if (!excerpt_spec_is_all(&inv->excerpt)) {
		if (excerpt_open(&inv->excerpt, reader, &p->excerpt, &err))
			return say_error(&err);
		/* Sums count the piece of a call that lies in the part, not the whole call. */
		excerpt_clip(p->excerpt);
		p->in = summary_from_excerpt(p->excerpt, reader);
	}
	p->in.by_thread = rows == PART_THREADS;
	return rows > PART_THREADS ? regroup_rows(p, rows, functions) : 0;
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
