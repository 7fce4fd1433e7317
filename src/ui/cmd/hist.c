/* SPDX-License-Identifier: MIT */
/* brace hist: counts an event's records, or a function's calls, by keys in one line; with -d, how
 * long the calls of functions last. The first is a hist trigger in a tree (answer.h), the second a
 * count of the calls in the stream of records. main() calls it, on brace's only thread. A failure
 * is said, and is EXIT_BRACE. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/catalogue.h"
#include "report/durations.h"
#include "ui/answer.h"
#include "ui/commands.h"
#include "ui/function_event.h"
#include "hist/question.h"
#include "ui/kernel_hist.h"
#include "ui/question.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/stream_run.h"

/* --- records by key --------------------------------------------------------------------------- */

/* A key that is a string's address in a system call means the copy of the string. */
static void name_copies(struct hist_question *q, const struct event_format *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const char *copy = f->fields[i].name, *end = copy + strlen(copy) - strlen("_val");

		if (!strncmp(copy, "__", 2) && end > copy + 2 && !strcmp(end, "_val") &&
		    strncmp(f->fields[i].type, "__data_loc char", 15) == 0)
			hist_question_rename(q, copy + 2, (size_t)(end - copy - 2), copy);
	}
}

/* Finds the event, or makes one at the function. *name: "SYSTEM:EVENT", for free(). The catalogue
 * is only for looking names up: the tree makes its own when it runs. */
static int find_event(struct invocation *inv, struct hist_question *q, char **name,
		      struct err *err)
{
	struct event_catalogue *c = question_events(inv);
	const struct event_entry *e = question_event(c, q->text + q->at, q->n);
	const char *made;
	int r = 0;

	if (e) {
		*name = mem_printf("%s:%s", e->format->system, e->format->name);
		name_copies(q, e->format);
	}
	events_free(c);
	if (e)
		return 0;
	r = function_event_define(inv,
				  &(struct function_question){
					  .text = q->text, .at = q->at, .n = q->n,
					  .uses = (const char *const[]){ q->trigger, NULL } },
				  &made, err);
	if (!r)
		*name = mem_strdup(made);
	return r;
}

/* Adds the question's trigger to the tree's writes. */
static int ask_session(struct invocation *inv, const char *text, struct answer *a, struct err *err)
{
	struct hist_question q;
	char *name, *colon;
	int e = hist_question_parse(text, &q, err);

	if (!e)
		e = find_event(inv, &q, &name, err);
	if (!e) {
		colon = strchr(name, ':');
		invocation_add_line(inv,
				    mem_printf("events/%.*s/%s/trigger", (int)(colon - name), name,
					       colon + 1),
				    mem_strdup(q.trigger));
		answer_add_hist(a, name);
	}
	hist_question_free(&q);
	return e;
}

/* The first question that cannot be asked ends it, before anything runs. */
static int count_records(struct invocation *inv)
{
	struct answer a = { 0 };
	struct err err;
	int e = 0, status;

	for (int i = 0; i < inv->n_questions && !e; i++)
		e = ask_session(inv, inv->questions[i], &a, &err);
	status = e ? say_error(&err) : answer_run(inv, &a);
	answer_free(&a);
	return status;
}

/* --- durations -------------------------------------------------------------------------------- */

/* Functions of all modules that match, unless -L says which. */
static int choose_functions(struct invocation *inv, struct err *err)
{
	static const struct option functions = { 'd', "durations", .file = "set_ftrace_filter",
						 .append = true },
				   modules = { 'L', "library", .file = "set_ftrace_module",
					       .append = true };
	bool opened = false;
	int e = set_setting(inv, &functions, inv->durations, err);

	for (size_t i = 0; i < inv->writes.n; i++)
		opened |= inv->writes.at[i].file &&
			  !strcmp(inv->writes.at[i].file, "set_ftrace_module");
	return e || opened ? e : set_setting(inv, &modules, "*", err);
}

#define LOOKS 10u  /* calls of the monitor from one output to the next */

/* The durations so far, and the output. With --top the monitor's thread prints, too: its lock
 * protects all but the session. */
struct durations_run {
	struct invocation *inv;
	struct durations *d;
	struct run_monitor *monitor;
	struct screen screen;
	unsigned looks;
};

/* screen_text()'s print. */
static void write_durations(void *arg, struct out *out)
{
	const struct durations_run *r = arg;

	(r->inv->json ? durations_print_json : durations_print)(r->d, r->inv->limit, out);
}

/* --top needs a terminal; without one the last page is all that is printed. */
static bool shows_pages(const struct invocation *inv)
{
	return inv->top && !inv->json && !inv->output && isatty(STDOUT_FILENO);
}

static void begin_durations(void *arg, struct source *source, struct run_monitor *m)
{
	struct durations_run *r = arg;

	screen_open_begun(&r->screen, r->inv, SCREEN_PLAIN, NULL);
	r->d = durations_new(source->info);
	r->monitor = m;
}

/* Where there is no terminal the outputs follow each other. */
static void show_durations(void *arg)
{
	struct durations_run *r = arg;
	char *text;

	if (++r->looks % LOOKS)
		return;
	text = screen_text(write_durations, r);
	if (shows_pages(r->inv)) {
		screen_page(&r->screen, text);
	} else {
		out_str(&r->screen.text, text);
		out_char(&r->screen.text, '\n');
		out_flush(&r->screen.text);
	}
	free(text);
}

/* Until the program has ended, or the monitor has stopped the session. Calls that are open then are
 * counted as such. */
static int take_all(void *arg, struct source *source, struct err *err)
{
	struct durations_run *r = arg;
	struct event e;
	int n;

	while ((n = source->ops->next(source, &e, err)) > 0) {
		if (r->inv->top)
			pthread_mutex_lock(&r->monitor->lock);
		durations_event(r->d, &e);
		if (r->inv->top)
			pthread_mutex_unlock(&r->monitor->lock);
	}
	return n;
}

/* The monitor has ended. With --top the answer takes the place of the last page. */
static int print_durations(struct durations_run *r)
{
	durations_end(r->d);
	if (shows_pages(r->inv))
		screen_page(&r->screen, "");
	write_durations(r, &r->screen.text);
	return screen_close(&r->screen, 0);
}

/* Called on failure as well; the screen has to be closed then without what was counted. */
static int end_durations(void *arg, const struct err *failed)
{
	struct durations_run *r = arg;
	int status = failed ? screen_close(&r->screen, say_error(failed)) : print_durations(r);

	durations_free(r->d);
	return status;
}

/* Calls are followed in brace, not in a histogram: a call's end has to find its beginning. */
static int count_durations(struct invocation *inv)
{
	const struct stream_use use = { begin_durations, take_all, inv->top ? show_durations : NULL,
					end_durations };
	struct durations_run run = { .inv = inv };
	struct err err;

	return choose_functions(inv, &err) ? say_error(&err) : stream_run(inv, &use, &run);
}

/* Records are counted in a tree's histograms, durations in brace itself. */
int cmd_hist(struct invocation *inv)
{
	if (inv->kernel_alone)
		return kernel_hist(inv);
	if (!inv->n_operands && !inv->pids.n) {
		say("brace: what is to be counted? Name a program behind --, or a process with -p\n");
		return EXIT_BRACE;
	}
	if (inv->durations && inv->n_questions) {
		say("brace: -d counts durations of functions, and takes no other question\n");
		return EXIT_BRACE;
	}
	if (!inv->durations && !inv->n_questions) {
		say("brace: count what? 'malloc size.log2', 'sys_enter_openat filename', or -d GLOB\n");
		return EXIT_BRACE;
	}
	return inv->durations ? count_durations(inv) : count_records(inv);
}
