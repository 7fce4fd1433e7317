/* SPDX-License-Identifier: MIT */
/* The main thread waits and prints, the instance's threads count, and the monitor's thread heeds
 * interrupts and --duration (run.h). The commands hist, sql and latency differ only in the lines
 * that they write to the tree. What fails is said, and ends the command with EXIT_BRACE. */
#include "ui/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event/catalogue.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"
#include "ui/tree_run.h"

#define LOOK_NS 10000000       /* between two looks for the end */
#define REFRESH_LOOKS 100u     /* looks from one screen to the next */

struct answer_run {
	const struct answer *answer;
	struct invocation *inv;
	struct screen screen;
	int failed;                /* exit status, once an answer could not be made */
};

/* Takes event over, SYSTEM:EVENT. */
void answer_add_hist(struct answer *a, char *event)
{
	*vec_add(&a->hists) = event;
}

void answer_free(struct answer *a)
{
	for (size_t i = 0; i < a->hists.n; i++)
		free(a->hists.at[i]);
	vec_free(&a->hists);
}

/* Polls: the end of a program has no descriptor that this thread could wait for besides a screen's
 * reader and a clock. */
static void nap(void)
{
	const struct timespec t = { .tv_nsec = LOOK_NS };

	nanosleep(&t, NULL);
}

/* --- histograms ------------------------------------------------------------------------------- */

/* event: SYSTEM:EVENT, as answer_add_hist() got it. NULL: the event has been removed since. */
static const struct event_entry *event_named(struct tree *tree, const char *event)
{
	const char *colon = strchr(event, ':');
	char *system = mem_strndup(event, (size_t)(colon - event));
	const struct event_entry *e = events_find(instance_events(tree), system, colon + 1);

	free(system);
	return e;
}

/* One reading of all histograms. */
struct hist_reading_of { const struct answer_run *r; struct tree *tree; };

/* screen_text()'s print. */
static void print_all(void *arg, struct out *out)
{
	const struct hist_reading_of *of = arg;
	const struct answer_run *r = of->r;

	for (size_t i = 0; i < r->answer->hists.n; i++) {
		const struct event_entry *e = event_named(of->tree, r->answer->hists.at[i]);

		if (!e)
			continue;
		if (i && !r->inv->json)
			out_char(out, '\n');
		instance_hist(instance_top(of->tree), e,
			      r->inv->json ? &hist_json_printer : &hist_text_printer, out);
	}
}

/* The text of all histograms; the caller frees it. */
static char *hist_text(const struct answer_run *r, struct tree *tree)
{
	struct hist_reading_of of = { r, tree };

	return screen_text(print_all, &of);
}

/* A pipe or a file gets each second's text after the one before: it is for programs, which have no
 * screen to clear. */
static bool shows_screens(const struct answer_run *r)
{
	return r->inv->top && !r->answer->select.sql && !r->inv->json && !r->inv->output &&
	       isatty(STDOUT_FILENO);
}

/* Prints the answer of a SELECT once. */
static int print_select(struct answer_run *r, struct tree *tree, struct err *err)
{
	const struct event_entry *event = event_named(tree, r->answer->hists.at[0]);
	struct answer_rows *rows = answer_rows_new(&r->answer->select, err);
	const struct hist_printer printer = { answer_rows_take, rows };
	int e;

	if (!rows)
		return -err->code;
	if (event)
		instance_hist(instance_top(tree), event, &printer, &r->screen.text);
	e = answer_rows_print(rows, r->inv->csv ? ROWS_CSV : r->inv->json ? ROWS_JSON : ROWS_TABLE,
			      &r->screen, err);
	answer_rows_free(rows);
	return e;
}

/* Also the last output, after the programs' end: with --top it replaces the last screen. */
static void print_hists(struct answer_run *r, struct tree *tree)
{
	struct err err;
	char *text;

	if (r->answer->select.sql) {
		if (print_select(r, tree, &err) && !r->failed)
			r->failed = say_error(&err);
		return;
	}
	text = hist_text(r, tree);
	out_str(&r->screen.text, text);
	out_flush(&r->screen.text);
	free(text);
}

/* One second's histograms. Where there is no terminal they follow each other. */
static void refresh(struct answer_run *r, struct tree *tree)
{
	char *text;

	if (!shows_screens(r)) {
		print_hists(r, tree);
		out_char(&r->screen.text, '\n');
		return;
	}
	text = hist_text(r, tree);
	screen_page(&r->screen, text);
	free(text);
}

/* Looks from one output to the next; 0: there is one, at the end. */
static unsigned looks_of(const struct answer_run *r)
{
	uint64_t looks = r->answer->every_ns / LOOK_NS;

	if (!r->answer->every_ns)
		return r->inv->top ? REFRESH_LOOKS : 0;
	return !looks ? 1 : looks > UINT32_MAX ? UINT32_MAX : (unsigned)looks;
}

/* Waits for the end of the programs, or for a reader that goes away. */
static void watch_hists(struct answer_run *r, struct tree_run *t)
{
	const unsigned every = looks_of(r);

	for (unsigned looks = 1; !instances_are_over(t->instances); looks++) {
		nap();
		if (every && looks % every == 0)
			refresh(r, t->tree);
		/* Nobody reads: the programs go on, and are not recorded any more. */
		if (screen_is_done(&r->screen))
			session_stop(instances_session(t->instances));
	}
	/* Records may still be on their way: all are to be counted before the last output. */
	instances_wait(t->instances);
	if (shows_screens(r))
		screen_page(&r->screen, "");
	print_hists(r, t->tree);
}

/* tree_run_use.run. Questions have records (sql, which prints them as they come) or
 * histograms; what had to be left out is told in either case. */
static int print_answer(struct tree_run *t, void *arg, struct err *err)
{
	struct session_result result = { 0 };
	struct answer_run *r = arg;
	int e;

	screen_open_begun(&r->screen, r->inv, SCREEN_PLAIN, NULL);
	e = r->answer->records ? tree_run_print(t, &r->screen, r->answer->limit, err) : 0;

	if (!e && r->answer->hists.n)
		watch_hists(r, t);
	session_result(instances_session(t->instances), &result);
	summary_messages(&result);
	return e;
}

/* Histograms have counted what the buffer dropped later. */
static void say_lost(const struct tree_run_result *result, bool records)
{
	uint64_t lost = result->session.lost + (records ? result->dropped : 0);
	char n[32];

	if (lost)
		say("brace: %s records lost: the answer lacks them; -b SIZE makes the buffers larger\n",
		    summary_grouped(lost, n));
}

/* The program's exit status, if nothing of brace's own went wrong. */
int answer_run(struct invocation *inv, const struct answer *a)
{
	struct answer_run r = { .answer = a, .inv = inv };
	struct tree_run_result result = { 0 };
	const struct tree_run_use use = { .prints = true, .pipes = a->records,
					  .run = print_answer, .arg = &r };
	int status = tree_run_begin(inv, &use, &result);

	status = screen_close(&r.screen, status ? status : r.failed);
	say_lost(&result, a->records);
	return status ? status : run_exit(result.session.wait_status);
}
