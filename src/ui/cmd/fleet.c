/* SPDX-License-Identifier: MIT */
/* brace fleet: questions about the runs that brace push sent, and recordings on many hosts (ui/
 * fleet_record.h). main() calls it, on brace's only
 * thread. Fails on an unknown question and on servers that are not there, or refuse; of several
 * servers those that are there answer, and the status is 1. */
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "fleet/questions.h"
#include "ui/commands.h"
#include "ui/fleet_diff.h"
#include "ui/fleet_fetch.h"
#include "ui/fleet_option.h"
#include "ui/fleet_output.h"
#include "ui/fleet_prune.h"
#include "ui/fleet_query.h"
#include "ui/fleet_record.h"
#include "ui/say.h"

/* Words that are no question with a statement of brace's own. */
static const struct fleet_verb {
	const char *name, *words; /* words: as say_questions() shows them */
	int most;                 /* operands; -1: any number */
	int (*run)(const struct invocation *inv);
} verbs[] = {
	{ "query", "STATEMENT", 2, fleet_query },
	{ "diff", "RUN RUN", 3, fleet_diff },
	{ "fetch", "RUN", 2, fleet_fetch },
	{ "prune", "--older TIME", 1, fleet_prune_runs },
	{ "record", NULL, -1, fleet_record },
	{ NULL, NULL, 0, NULL },
};

/* NULL: the word is a question's, or one that find_question() refuses. */
static const struct fleet_verb *find_verb(const char *name)
{
	for (const struct fleet_verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* Ends the sentence that find_question() begins; `record` is no question, and has no words. */
static void say_questions(void)
{
	for (const struct fleet_question *q = fleet_questions; q->name; q++)
		say(" %s%s,", q->name, q->of_function ? " FUNCTION" : "");
	for (const struct fleet_verb *v = verbs; v->name; v++)
		if (v->words)
			say("%s %s %s", v == verbs ? "" : ",", v->name, v->words);
	say("\n");
}

/* NULL: said. */
static const struct fleet_question *find_question(const char *name)
{
	const struct fleet_question *found = fleet_question_find(name);
	struct nearest near = { name, NULL, 0 };
	char cut[SAY_WORD];

	if (found)
		return found;
	for (const struct fleet_question *q = fleet_questions; q->name; q++)
		nearest_offer(&near, q->name);
	/* The verbs are offered, too: the user does not know which words are statements of brace's
	 * own. */
	for (const struct fleet_verb *v = verbs; v->name; v++)
		nearest_offer(&near, v->name);
	if (near.best) {
		say("brace: no question %s; did you mean %s?\n", say_word(name, cut), near.best);
		return NULL;
	}
	say("brace: no question %s; there are", say_word(name, cut));
	say_questions();
	return NULL;
}

/* 0, or EXIT_BRACE (said). */
static int read_spec(const struct invocation *inv, const struct fleet_question *q,
		     struct fleet_spec *w)
{
	*w = (struct fleet_spec){ inv->n_operands > 1 ? inv->operands[1] : NULL, inv->of_push.host,
				  inv->of_push.labels.n ? inv->of_push.labels.at[0] : NULL,
				  fleet_option_since(inv) };
	/* A question's statement has one condition for a label; the second one would be left out
	 * silently. */
	if (inv->of_push.labels.n > 1) {
		say("brace: fleet %s takes one --label: it counts the runs that have it\n", q->name);
		return EXIT_BRACE;
	}
	if (q->of_function == (w->function != NULL))
		return 0;
	if (q->of_function)
		say("brace: fleet %s wants a function's name, as brace fleet top prints it\n", q->name);
	else
		say("brace: fleet %s takes no function\n", q->name);
	return EXIT_BRACE;
}

/* An empty answer is a failure, so that a script sees a misspelt function. EXIT_BRACE. */
static int say_nothing_found(const struct fleet_spec *w)
{
	char cut[SAY_WORD];

	if (w->function)
		say("brace: no call of %s in these runs: brace fleet top names the functions\n",
		    say_word(w->function, cut));
	else
		say("brace: there is no such run: brace fleet runs lists what was pushed\n");
	return EXIT_BRACE;
}

static int ask(const struct invocation *inv, const struct fleet_question *q,
	       const struct fleet_servers *s, const struct fleet_spec *w)
{
	struct fleet_answer a = { 0 };
	struct fleet_output o;
	struct err err;
	int r, status = fleet_output_begin(&o, inv);

	if (status)
		return status;
	r = fleet_question_ask(q, s, w, inv->limit, &rows_sink, &o.rows, &a, &err);
	status = fleet_output_end(&o, r, &a, &err);
	if (status == EXIT_BRACE)
		return status;
	/* A server that did not answer may have rows: nobody can say that nothing is found. The
	 * answer of `runs` (three texts: run, host, begin) may be empty without a fault: nothing
	 * was pushed yet, or nothing in that time. */
	if (status || a.rows || (!w->function && q->texts == 3))
		return status;
	return say_nothing_found(w);
}

static bool is_verb(const struct fleet_verb *v, const char *name)
{
	return v && !strcmp(v->name, name);
}

/* v: NULL: a question. 0, or EXIT_BRACE (said). Each option belongs to one verb, and is refused
 * elsewhere: an --older that a question ignored would let the user believe in a selection. */
static int check_words(const struct invocation *inv, const struct fleet_verb *v)
{
	const bool records = is_verb(v, "record");
	const int most = v ? v->most : 2;
	char cut[SAY_WORD];

	if (records && !inv->of_hosts.hosts)
		say("brace: fleet record wants hosts before it: brace fleet -H HOST,HOST record PROGRAM\n");
	else if (records && inv->n_operands < 2)
		say("brace: fleet record wants a program, and takes the options of brace record\n");
	else if (!records && inv->of_hosts.hosts)
		say("brace: -H names the hosts of a recording: brace fleet -H HOSTS record PROGRAM\n");
	else if (most >= 0 && inv->n_operands > most)
		say("brace: %s is one word too many for fleet\n", say_word(inv->operands[most], cut));
	else if (!is_verb(v, "diff") && inv->sort)
		say("brace: -s names the column that is compared: brace fleet diff -s COLUMN RUN RUN\n");
	else if (!is_verb(v, "prune") && (inv->of_push.older_ns || inv->of_push.dry_run))
		say("brace: --older and -n are of brace fleet prune, which deletes old runs\n");
	else if (!is_verb(v, "query") && inv->of_push.then)
		say("brace: --then has a statement for the rows of another: brace fleet query STATEMENT --then STATEMENT\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* v: NULL: a question. 0, or EXIT_BRACE (said). The form of the output, which traces do not
 * have. */
static int check_form(const struct invocation *inv, const struct fleet_verb *v)
{
	const bool makes_traces = is_verb(v, "record") || is_verb(v, "fetch");

	if (makes_traces && (inv->html || inv->json || inv->csv))
		say("brace: fleet %s makes traces: --html, --json and --csv are of questions\n", v->name);
	else if (inv->html && (inv->json || inv->csv))
		say("brace: --html is a form of its own: leave --json and --csv out\n");
	else if (!makes_traces && inv->output && !inv->html)
		say("brace: -o names the page of --html, the file of fleet fetch, or the folder of fleet record\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* The servers are read after the words have been checked: a slip is told without a server's
 * address. */
static int answer(struct invocation *inv)
{
	const struct fleet_question *q = find_question(inv->operands[0]);
	struct fleet_servers servers = { 0 };
	struct fleet_spec spec;
	int status = q ? read_spec(inv, q, &spec) : EXIT_BRACE;

	if (!status)
		status = fleet_option_servers(inv, "fleet", &servers);
	if (!status)
		status = ask(inv, q, &servers, &spec);
	fleet_servers_free(&servers);
	return status;
}

int cmd_fleet(struct invocation *inv)
{
	const struct fleet_verb *v = find_verb(inv->operands[0]);
	int status = check_words(inv, v);

	if (!status)
		status = check_form(inv, v);
	if (status)
		return status;
	return v ? v->run(inv) : answer(inv);
}
