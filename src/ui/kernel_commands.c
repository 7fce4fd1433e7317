/* SPDX-License-Identifier: MIT */
/* graph, record, list and reset of the kernel. The commands of these names (cmd/) call them where
 * their target is the kernel, on the main thread. What fails is said, and ends the command with
 * EXIT_BRACE. */
#include "ui/kernel_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "collect/clock.h"
#include "kernel/functions.h"
#include "kernel/instance.h"
#include "kernel/producer.h"
#include "kernel/tracefs.h"
#include "model/function_list.h"
#include "report/printer.h"
#include "store/store.h"
#include "ui/globs.h"
#include "ui/kernel_run.h"
#include "ui/say.h"
#include "ui/screen.h"

/* --- graph ------------------------------------------------------------------------------ */

/* The context of kernel_run_read() while a graph is printed. */
struct kernel_printing { struct screen output; struct printer printer; struct kernel_run *run; };

/* Never an error: what cannot be printed any more is dropped here, and after_printing() ends the
 * reading. */
static int print_one(void *context, const struct event *e, struct err *err)
{
	struct kernel_printing *p = context;
	struct event placed = *e;

	kernel_run_place(p->run, &placed);
	if (!screen_is_done(&p->output))
		printer_event(&p->printer, &placed);
	return 0;
}

/* An entry waits for the next record of its CPU, but not when none comes for a while. */
static int after_printing(void *context, bool fresh, struct err *err)
{
	struct kernel_printing *p = context;

	if (!fresh)
		printer_flush(&p->printer);
	out_flush(&p->output.text);
	/* Nobody reads any more: an end, not an error. */
	return screen_is_done(&p->output) ? -EPIPE : 0;
}

/* The kernel's own graph of what it records, as it comes. The exit status is the program's, if
 * there is one. */
int kernel_graph(struct invocation *inv)
{
	struct kernel_printing p = { 0 };
	struct kernel_run *run;
	struct err err;
	int status = kernel_run_begin(inv, false, &run), e;

	if (status)
		return status;
	p.run = run;
	screen_open_begun(&p.output, inv, SCREEN_PLAIN, paint_graph);
	printer_begin(&p.printer, kernel_run_info(run), inv->settings.options, &p.output.text);
	e = kernel_run_read(run, print_one, after_printing, &p, &err);
	printer_close(&p.printer);
	status = screen_close(&p.output, 0);
	if (e && e != -EPIPE)
		status = say_error(&err);
	return kernel_run_end(run, 0, status);
}

/* --- record ----------------------------------------------------------------------------- */

/* The context of kernel_run_read() while a file is written. runs waits for the end of each pass. */
struct kernel_storing {
	struct store_writer *writer;
	struct thread_runs runs;
	struct trace_info *info;
	struct kernel_used *used;
	uint64_t told;          /* losses that have a place among the records */
};

/* Records are kept by CPU until the pass is over: a file has them by thread. */
static int store_one(void *context, const struct event *e, struct err *err)
{
	struct kernel_storing *s = context;

	s->told += kernel_record_add(&s->runs, e);
	return 0;
}

/* Counts what it stores, so that the file's figures are those of its records. */
static int store_run(void *context, const struct drain_run *run, struct err *err)
{
	struct kernel_storing *s = context;
	struct trace_thread *t = &s->info->threads.at[run->slot];

	t->records += run->records;
	t->lost += run->lost;
	s->info->total.records += run->records;
	s->info->total.calls += run->calls;
	s->info->total.lost += run->lost;
	return store_records(s->writer, run->slot, run->near_tsc, run->cpu, run->lost, run->words,
			     run->n, err);
}

/* Threads have names by now. Functions get their ids here, too: a file has only those that its
 * records name, and a record has to have the id before it is written. */
static int after_storing(void *context, bool fresh, struct err *err)
{
	struct kernel_storing *s = context;
	thread_run_list runs = { 0 };

	thread_runs_take(&s->runs, 0, &runs);
	kernel_runs_renumber(&runs, s->used, s->info);
	return thread_runs_give(&runs, store_run, s, err);
}

/* Losses that only the kernel's counters know are told at the end, so that the file says what the
 * closing line says. A trace without a thread has nothing to tell them of. */
static int store_untold(struct kernel_storing *s, uint64_t lost, struct err *err)
{
	thread_run_list runs = { 0 };

	s->runs.lost += lost > s->told ? lost - s->told : 0;
	if (s->info->threads.n)
		thread_runs_take_losses(&s->runs, 0, clock_tsc(), &runs);
	return thread_runs_give(&runs, store_run, s, err);
}

/* A file that could not be written to its end is discarded: its header would promise more than it
 * has. */
int kernel_record(struct invocation *inv)
{
	const char *file = inv->output ? inv->output : "trace.brace";
	struct kernel_storing s = { 0 };
	struct kernel_run *run;
	uint64_t bytes = 0;
	struct err err;
	int status = kernel_run_begin(inv, true, &run), e;

	if (status)
		return status;
	s.info = kernel_run_info(run);
	s.used = kernel_run_used(run);
	s.info->compress = inv->compress;
	e = store_create(file, s.info, &s.writer, &err);
	if (!e) {
		e = kernel_run_read(run, store_one, after_storing, &s, &err);
		if (!e)
			e = store_untold(&s, kernel_run_lost(run), &err);
		kernel_run_describe_end(run);
		bytes = store_bytes(s.writer);
		e = e ? (store_discard(s.writer), e) : store_finish(s.writer, &err);
	}
	thread_runs_free(&s.runs);
	if (e)
		status = say_error(&err);
	return kernel_run_end(run, bytes, status);
}

/* --- list ------------------------------------------------------------------------------- */

struct kernel_listing {
	const struct invocation *inv;
	struct function_list globs;
	bool *met;              /* for each pattern: some function matches it */
	struct screen output;
	size_t n;
};

/* "reason" is the word of `brace list --why`, "" for a function that can be traced. */
static void print_function_json(struct out *o, const struct kernel_function *f)
{
	out_str(o, "{\"name\":");
	json_string(o, f->name);
	out_str(o, ",\"module\":");
	json_string(o, f->module);
	out_printf(o, ",\"traceable\":%s,\"reason\":\"%s\"}\n", f->traceable ? "true" : "false",
		   f->word);
}

/* Whether the list has the function. Each pattern is compared alone, too, so that those that no
 * function matches can be told. */
static bool is_listed(struct kernel_listing *l, const struct kernel_function *f)
{
	for (size_t i = 0; i < l->globs.patterns.n; i++) {
		const struct function_list one = { { &l->globs.patterns.at[i], 1, 1 } };

		l->met[i] = l->met[i] || l->globs.patterns.at[i].remove ||
			    function_list_match(&one, f->name, f->module);
	}
	return !l->globs.patterns.n || function_list_match(&l->globs, f->name, f->module);
}

/* False ends the walk: the reader of the list has gone. Patterns may name a module, as for -l. */
static bool list_one(void *context, const struct kernel_function *f)
{
	struct kernel_listing *l = context;
	struct out *o = &l->output.text;

	if (!is_listed(l, f))
		return true;
	l->n++;
	if (l->inv->json) {
		print_function_json(o, f);
		return !screen_is_done(&l->output);
	}
	out_str(o, f->name);
	if (*f->module)
		out_printf(o, " [%s]", f->module);
	if (!f->traceable)
		out_printf(o, " (not traceable: %s, %s)", f->word, f->why);
	out_char(o, '\n');
	return !screen_is_done(&l->output);
}

static void say_missing(const struct err *why)
{
	say_error(why);
}

/* Each pattern that no function matches gets its sentence, behind the list. 0, or EXIT_BRACE if
 * there was one. */
static int explain_missing(const struct kernel_listing *l, const char *top)
{
	VEC(const char *) missing = { 0 };
	struct err err;
	int status = 0;

	for (size_t i = 0; i < l->globs.patterns.n; i++)
		if (!l->met[i])
			*vec_add(&missing) = l->globs.patterns.at[i].text;
	if (missing.n) {
		status = EXIT_BRACE;
		if (kernel_functions_explain_each(top, missing.at, missing.n, say_missing, &err))
			say_error(&err);
	}
	vec_free(&missing);
	return status;
}

/* Prints the list. A reader that has gone before its end has not seen which names are missing
 * either. */
static int print_functions(struct kernel_listing *l, const char *top)
{
	struct err err;
	bool whole;
	int status, e;

	l->met = mem_zalloc((l->globs.patterns.n + 1) * sizeof(*l->met));
	screen_open(&l->output, l->inv, SCREEN_PAGED, NULL);
	if (l->inv->json)
		out_str(&l->output.text, "{\"schema\":\"brace-list\",\"version\":1}\n");
	e = kernel_functions_each(top, l->inv->of_list.why, list_one, l, &err);
	whole = !screen_is_done(&l->output);
	status = screen_close(&l->output, 0);
	if (e)
		status = say_error(&err);
	else if (!status && whole)
		status = explain_missing(l, top);
	if (!e && !l->n && !status) {
		say("brace: the kernel has no function that matches%s\n",
		    l->inv->of_list.why ? "" : " and can be traced; --why tells of all");
		status = EXIT_BRACE;
	}
	free(l->met);
	return status;
}

/* Without --why those that can be traced; with it all, each with the reason. */
int kernel_list(struct invocation *inv)
{
	struct kernel_listing l = { .inv = inv };
	struct err err;
	char *top;
	int status;

	if (kernel_tracefs_find(&top, &err))
		return say_error(&err);
	status = globs_read(&l.globs, inv->operands, inv->n_operands, 0);
	if (!status)
		status = print_functions(&l, top);
	function_list_free(&l.globs);
	free(top);
	return status;
}

/* --- reset ------------------------------------------------------------------------------ */

/* One line for each instance, also for those that are left alone: whoever asked wants to know why
 * one is still there. */
static void say_leftover(void *context, const struct kernel_leftover *l)
{
	int *status = context;

	if (l->living) {
		say("brace: %s belongs to process %d, which runs: left alone\n", l->name,
		    (int)l->pid);
		return;
	}
	if (l->pid)
		say("brace: %s was left by process %d", l->name, (int)l->pid);
	else
		say("brace: %s is the session of brace start -k", l->name);
	say(" (tracer %s, %u event%s): ", l->tracer ? l->tracer : "unknown", l->events,
	    l->events == 1 ? "" : "s");
	if (!l->error) {
		say("removed\n");
		return;
	}
	say("cannot be removed: %s\n", strerror(l->error));
	*status = EXIT_BRACE;
}

/* For commands that only want to begin: instances of living braces are their own affair. */
static void say_removed(void *context, const struct kernel_leftover *l)
{
	int status;

	if (!l->living)
		say_leftover(&status, l);
}

/* Before each use of the kernel's tracing: what a killed brace left may cost every call of a
 * function, until somebody removes it. */
void kernel_remove_leftovers(void)
{
	unsigned probes;

	/* A user who may not trace the kernel is told so by what comes next. */
	kernel_instances_reset(false, say_removed, NULL, &probes, NULL);
}

/* Exit status 0, too, if nothing was there. */
int kernel_reset(struct invocation *inv)
{
	int status = 0, n;
	unsigned probes = 0;
	struct err err;

	n = kernel_instances_reset(true, say_leftover, &status, &probes, &err);
	if (n < 0)
		return say_error(&err);
	if (probes)
		say("brace: %u event%s that brace had defined: removed\n", probes,
		    probes == 1 ? "" : "s");
	if (!n && !probes)
		say("brace: no instance of brace's is in the kernel\n");
	return status;
}
