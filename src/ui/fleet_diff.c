/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c calls it, on brace's only thread. Each side is asked for its runs, then for the sums
 * of their functions, which become a summary as a trace file's; report/compare.h does the rest.
 * Fails on words that name no runs, on runs that are not there, and on servers that refuse. */
#include "ui/fleet_diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fleet/questions.h"
#include "report/compare.h"
#include "ui/fleet_option.h"
#include "ui/fleet_output.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/word_list.h"

enum { RUN_HOST = 1, RUN_BEGIN = 2, RUN_THRESHOLD = 6 }; /* columns of the question `runs` */

/* One run, or all with a label. */
struct fleet_side {
	const char *word;
	struct fleet_spec spec;
	struct fleet_answer answer;
	struct summary sums;   /* means of the runs; freed by free_side() */
	uint64_t runs;
	char *name;            /* for people */
};

/* --- the words ----------------------------------------------------- */

/* 0, or EXIT_BRACE (said). */
static int read_side(const struct invocation *inv, const char *word, struct fleet_side *s)
{
	char cut[SAY_WORD];

	s->word = word;
	s->spec.host = inv->of_push.host;
	s->spec.since = fleet_option_since(inv);
	s->spec.of_run = fleet_option_run(word, &s->spec.run);
	if (s->spec.of_run)
		return 0;
	/* A label has a key; a run's 16 digits have no `=`, so that the two cannot be confused. */
	if (*word != '=' && strchr(word, '='))
		s->spec.label = word;
	else {
		say("brace: %s is neither a run, 16 digits as brace fleet runs prints it, nor a label KEY=VALUE\n",
		    say_word(word, cut));
		return EXIT_BRACE;
	}
	return 0;
}

/* 0, or EXIT_BRACE (said). */
static int read_words(const struct invocation *inv, struct fleet_side sides[2],
		      enum summary_column *column)
{
	static const struct word_list list = { "column", " to compare", summary_column_words,
					       SUMMARY_NUMBERS };
	int status = 0;

	if (inv->n_operands != 3)
		say("brace: fleet diff wants two runs, or labels: brace fleet diff RUN RUN; brace fleet runs lists them\n");
	else if (inv->of_push.labels.n)
		say("brace: fleet diff takes no --label: brace fleet diff version=1 version=2\n");
	else if (inv->csv)
		say("brace: fleet diff has no --csv; --json is for programs\n");
	else {
		*column = inv->sort ? word_list_find(&list, inv->sort) : SUMMARY_SELF;
		status = *column == SUMMARY_NUMBERS ? EXIT_BRACE : 0;
		for (unsigned i = 0; i < 2 && !status; i++)
			status = read_side(inv, inv->operands[1 + i], &sides[i]);
		return status;
	}
	return EXIT_BRACE;
}

/* --- what servers answer ----------------------------------------------------- */

/* The columns are known: the questions are brace's own. */
static int no_columns(void *arg, const char *const *names, unsigned n)
{
	return 0;
}

/* NULL and what is below zero, which no sum of calls is: 0. */
static uint64_t number_of(const struct query_value *v)
{
	const int64_t n = v->text ? strtoll(v->text, NULL, 10) : 0;

	return n > 0 ? (uint64_t)n : 0;
}

static int take_run(void *arg, const struct query_value *values, unsigned n)
{
	struct fleet_side *s = arg;

	s->runs++;
	/* One run that was recorded with --threshold lacks its short calls: self times of the whole
	 * side are unknown then. */
	s->sums.cut |= number_of(&values[RUN_THRESHOLD]) > 0;
	if (!s->name)
		s->name = mem_printf("%s (%s, %s)", s->word, values[RUN_HOST].text,
				     values[RUN_BEGIN].text);
	return 0;
}

/* Sums become means of runs, so that sides of different numbers of runs compare. Rounded to the
 * nearest, without an addition that could overflow. runs is not 0: ask_side() has refused that. */
static uint64_t mean_of(uint64_t sum, uint64_t runs)
{
	return sum / runs + (sum % runs >= runs - runs / 2);
}

static int take_sums(void *arg, const struct query_value *values, unsigned n)
{
	struct fleet_side *s = arg;
	struct summary_row row = { .symbol = true };

	for (unsigned i = 0; i < SUMMARY_NUMBERS; i++) {
		row.value[i] = number_of(&values[FLEET_SUMS_CALLS + i]);
		/* Calls, total and self, the first three, are sums over runs. Means, percentiles
		 * and extremes are already of a single call. */
		if (i <= SUMMARY_SELF)
			row.value[i] = mean_of(row.value[i], s->runs);
	}
	row.name = mem_strdup(values[FLEET_SUMS_NAME].text);
	/* A summary of a trace file points to the module's name in its trace_info. Here nobody else
	 * has it: free_side() frees it, since summary_free() does not. */
	row.module = mem_strdup(values[FLEET_SUMS_MODULE].text);
	row.timed = values[FLEET_SUMS_MEAN].text != NULL;
	*vec_add(&s->sums.rows) = row;
	return 0;
}

static void free_side(struct fleet_side *s)
{
	for (size_t i = 0; i < s->sums.rows.n; i++)
		free((char *)s->sums.rows.at[i].module);
	summary_free(&s->sums);
	free(s->name);
}

/* A side without runs is not compared: all of the other one would look new. Of servers that did not
 * answer nobody can say what they have. */
static int say_no_run(const struct fleet_side *s)
{
	const int status = fleet_option_missing(&s->answer);
	char cut[SAY_WORD];

	say("brace: there is no run %s%s: brace fleet runs lists what was pushed\n",
	    say_word(s->word, cut), status ? " on the servers that answered" : "");
	return status ? status : EXIT_BRACE;
}

/* 0, or the exit status (said). The runs come first: take_sums() divides by their number. */
static int ask_side(const struct fleet_servers *servers, struct fleet_side *s)
{
	static const struct query_sink runs = { no_columns, take_run };
	static const struct query_sink sums = { no_columns, take_sums };
	static const struct trace_info nothing;
	struct err err;

	/* A summary has a trace_info always; there is no file here, so that it is an empty one. */
	s->sums.info = &nothing;
	if (fleet_question_ask(fleet_question_find("runs"), servers, &s->spec, 0, &runs, s,
			       &s->answer, &err))
		return say_error(&err);
	if (!s->runs)
		return say_no_run(s);
	/* The host and the time of one run would be wrong for a label, which several runs may
	 * have. */
	if (!s->spec.of_run) {
		free(s->name);
		s->name = mem_printf(s->runs == 1 ? "%s (%" PRIu64 " run)"
						  : "%s (mean of %" PRIu64 " runs)",
				     s->word, s->runs);
	}
	if (fleet_question_ask(&fleet_sums, servers, &s->spec, 0, &sums, s, &s->answer, &err))
		return say_error(&err);
	return 0;
}

/* --- side by side ----------------------------------------------------- */

/* Chooses the column by the rule of brace diff: calls where one side has no times, totals where it
 * lacks self times. 0, or EXIT_BRACE (said). */
static int choose_column(const struct invocation *inv, const struct fleet_side sides[2],
			 enum summary_column *column)
{
	const bool cut = sides[0].sums.cut || sides[1].sums.cut;

	if (!inv->sort && !(summary_is_timed(&sides[0].sums) && summary_is_timed(&sides[1].sums)))
		*column = SUMMARY_CALLS;
	else if (!inv->sort && cut)
		*column = SUMMARY_TOTAL;
	if (*column != SUMMARY_SELF || !cut)
		return 0;
	say("brace: cannot compare self: short calls were not recorded (--threshold), and self time is not known\n");
	return EXIT_BRACE;
}

/* Joins both sides' answers: a server that was away for one question lacks in the figures. Each
 * side keeps the answer of its last question, the sums. */
static struct fleet_answer both_answers(const struct fleet_side sides[2])
{
	const struct fleet_answer *a = &sides[0].answer, *b = &sides[1].answer;
	struct fleet_answer both = a->answered < b->answered ? *a : *b;

	both.lost = a->lost + b->lost;
	return both;
}

/* The page is made of the lines of --json (html_rows). */
static int print_page(const struct invocation *inv, const struct comparison *c,
		      const char *const names[2], const struct fleet_answer *a)
{
	struct fleet_output o;
	const int status = fleet_output_begin(&o, inv);

	if (status)
		return status;
	compare_print_json(c, names, inv->limit, &o.page.lines);
	return fleet_output_end(&o, 0, a, NULL);
}

static int print_text(const struct invocation *inv, const struct comparison *c,
		      const char *const names[2], const struct fleet_answer *a)
{
	struct screen o;
	int status;

	screen_open(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_table);
	(inv->json ? compare_print_json : compare_print)(c, names, inv->limit, &o.text);
	status = screen_close(&o, 0);
	return status ? status : fleet_option_missing(a);
}

static int print_difference(const struct invocation *inv, const struct fleet_side sides[2],
			    enum summary_column column)
{
	const char *const names[2] = { sides[0].name, sides[1].name };
	const struct fleet_answer both = both_answers(sides);
	struct comparison c;
	int status;

	compare_make(&c, &sides[0].sums, &sides[1].sums, column);
	compare_sort(&c, false);
	status = (inv->html ? print_page : print_text)(inv, &c, names, &both);
	compare_free(&c);
	return status;
}

int fleet_diff(const struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	struct fleet_side sides[2] = { 0 };
	enum summary_column column = SUMMARY_SELF;
	int status = read_words(inv, sides, &column);

	if (!status)
		status = fleet_option_servers(inv, "fleet", &servers);
	for (unsigned i = 0; i < 2 && !status; i++)
		status = ask_side(&servers, &sides[i]);
	if (!status)
		status = choose_column(inv, sides, &column);
	if (!status)
		status = print_difference(inv, sides, column);
	for (unsigned i = 0; i < 2; i++)
		free_side(&sides[i]);
	fleet_servers_free(&servers);
	return status;
}
