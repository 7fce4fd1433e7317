/* SPDX-License-Identifier: MIT */
/* brace graph: runs a program and prints its graph while it runs. The main thread reads the live
 * stream and prints; the monitor's thread (run.h) flushes and heeds interrupts. Both use the
 * printer with the monitor's lock. A reader that goes away ends the recording, not the program. A
 * failure is said, and is EXIT_BRACE. */
#include <errno.h>
#include <string.h>

#include "tree/tree.h"
#include "ui/event_writes.h"
#include "ui/beside.h"
#include "ui/commands.h"
#include "ui/screen.h"
#include "report/printer.h"
#include "ui/kernel_commands.h"
#include "ui/say.h"
#include "ui/summary.h"
#include "ui/run.h"
#include "ui/tree_run.h"

struct graph_run {
	struct screen output;
	struct printer printer;
	struct run_monitor run_monitor;
	struct session *session;
	struct invocation *inv;
	uint64_t options; /* the trace's, by enum trace_option */
	bool fresh;       /* events came since the monitor looked last */
};

/* A call waits in the printer for the next record; prints it when none comes for a while. Called by
 * the monitor, locked. */
static void print_waiting(void *arg)
{
	struct graph_run *l = arg;

	if (!l->fresh)
		printer_flush(&l->printer);
	l->fresh = false;
	out_flush(&l->output.text);
}

/* Prints one event. False: nobody reads any more. */
static bool print_live_event(struct graph_run *l, const struct event *e)
{
	bool wanted;

	pthread_mutex_lock(&l->run_monitor.lock);
	wanted = !screen_is_done(&l->output);
	if (wanted)
		printer_event(&l->printer, e);
	l->fresh = true;
	pthread_mutex_unlock(&l->run_monitor.lock);
	return wanted;
}

/* Prints until the program has ended. When nobody reads any more, the program goes on
 * unrecorded. */
static int print_all(struct graph_run *l, struct err *err)
{
	struct source *source = session_source(l->session);
	bool stopped = false;
	struct event e;
	int r;

	source->info->sides = l->inv->kernel_only ? SIDE_KERNEL
			      : l->inv->user_only ? SIDE_USER : SIDES_BOTH;
	if (printer_is_binary(source->info, l->options))
		screen_binary(&l->output);
	printer_begin(&l->printer, source->info, l->options, &l->output.text);
	run_monitor_begin(&l->run_monitor, l->inv, l->session, print_waiting, l);
	while ((r = source->ops->next(source, &e, err)) > 0) {
		if (stopped || print_live_event(l, &e))
			continue;
		session_stop(l->session);
		stopped = true;
	}
	run_monitor_end(&l->run_monitor);
	printer_close(&l->printer);
	source->ops->close(source);
	return r;
}

/* --- with triggers ------------------------------------------------------------------ */

/* Prints the header, which comes before the first record. */
static void print_head(struct graph_run *l, struct tree *tree)
{
	char *text = tree_cat(tree, "current_tracer", NULL);
	struct trace_info *info = trace_info_new();
	const struct trace_header none = { 0 };
	struct printer printer;

	text[strcspn(text, "\n")] = '\0';
	info->tracer = text;
	if (printer_is_binary(info, l->inv->settings.options))
		screen_binary(&l->output);
	printer_open(&printer, info, l->inv->settings.options, &l->output.text);
	printer_header(&printer, &none);
	printer_close(&printer);
	trace_info_free(info);
}

/* Prints what triggers have left, as trace_pipe gives it. */
static int print_pipe(struct tree_run *t, void *arg, struct err *err)
{
	struct graph_run *l = arg;

	screen_open_begun(&l->output, l->inv, SCREEN_PLAIN, paint_graph);
	print_head(l, t->tree);
	return tree_run_print(t, &l->output, TREE_RUN_ALL, err);
}

/* Says how the run went. Returns the exit status. */
static int finish(const struct invocation *inv, const struct session_result *result, int status)
{
	if (!inv->quiet)
		summary_print(result, NULL);
	if (summary_stuck(result) && !status)
		status = EXIT_BRACE;
	return status ? status : run_exit(result->wait_status);
}

/* For what only an instance does: triggers, stacks, counts of repeated calls. */
static int graph_behind_tree(struct graph_run *l, struct invocation *inv)
{
	struct tree_run_result result = { 0 };
	int failed = tree_run_begin(inv, true, true, print_pipe, l, &result);
	int status = screen_close(&l->output, failed);

	result.session.lost += result.dropped;
	return failed ? status : finish(inv, &result.session, status);
}

/* The plain way, without triggers: the live stream of the session. */
static int graph_plainly(struct graph_run *l, struct invocation *inv)
{
	struct session_result result = { 0 };
	struct beside beside;
	int status = beside_begin(inv, &beside), e;
	struct err err;

	if (status)
		return status;
	status = run_start(inv, NULL, beside_first(&beside), &l->session);
	if (status)
		return beside_end(&beside, inv, status);
	/* The value that decided is shown. */
	if (function_list_has_returned(&inv->settings.graph_function))
		inv->settings.options |= OPTION_BIT(OPTION_GRAPH_RETVAL);
	screen_open_begun(&l->output, inv, SCREEN_PLAIN, paint_graph);
	l->options = inv->settings.options;
	e = print_all(l, &err);
	session_result(l->session, &result);
	session_free(l->session);
	status = screen_close(&l->output, 0);
	if (e)
		status = say_error(&err);
	status = beside_end(&beside, inv, status);
	return e ? status : finish(inv, &result, status);
}

/* brace probe calls it, too, with probes in place of functions. */
int cmd_graph(struct invocation *inv)
{
	struct graph_run l = { .inv = inv };

	if (inv->kernel_alone)
		return kernel_graph(inv);
	if (inv->kernel && tree_run_needed(inv))
		return tree_run_refuse_kernel();
	if ((inv->kernel_only || inv->user_only) && !inv->kernel) {
		say("brace: --kernel-only and --user-only show a part of what -k records\n");
		return EXIT_BRACE;
	}
	if (tree_run_needed(inv))
		return graph_behind_tree(&l, inv);
	event_writes_warn(inv);
	return graph_plainly(&l, inv);
}
