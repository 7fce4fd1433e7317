/* SPDX-License-Identifier: MIT */
/* brace graph: runs a program and prints its graph while it runs: the trace_pipe of a tree in this
 * process, which the main thread reads (tree_run.h). A reader that goes away ends the recording,
 * not the program. A failure is said, and is EXIT_BRACE. */
#include "ui/beside.h"
#include "ui/commands.h"
#include "ui/event_writes.h"
#include "ui/kernel_commands.h"
#include "ui/run.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/summary.h"
#include "ui/tree_run.h"

struct graph_run {
	struct screen output;
	struct invocation *inv;
};

/* Prints the header, which comes before the first record, and what trace_pipe gives. */
static int print_pipe(struct tree_run *t, void *arg, struct err *err)
{
	struct graph_run *l = arg;
	int e;

	screen_open_begun(&l->output, l->inv, SCREEN_PLAIN, paint_graph);
	if (instances_are_binary(t->instances))
		screen_binary(&l->output);
	instances_print_header(t->instances, &l->output.text);
	e = tree_run_print(t, &l->output, TREE_RUN_ALL, err);
	return !e && instances_failed(t->instances, err) ? -err->code : e;
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

/* The sources beside the program are closed, and said, before the run is. */
static int run_graph(struct invocation *inv, bool plain)
{
	struct graph_run l = { .inv = inv };
	struct tree_run_use use = { .prints = true, .pipes = true, .plain = plain,
				    .run = print_pipe, .arg = &l };
	struct tree_run_result result = { 0 };
	struct beside beside;
	int status = beside_begin(inv, &beside), failed;

	if (status)
		return status;
	use.beside = beside_first(&beside);
	failed = tree_run_begin(inv, &use, &result);
	status = screen_close(&l.output, failed);
	status = beside_end(&beside, inv, status);
	result.session.lost += result.dropped;
	return failed ? status : finish(inv, &result.session, status);
}

/* brace probe calls it, too, with probes in place of functions. */
int cmd_graph(struct invocation *inv)
{
	const bool plain = !tree_run_needed(inv);

	if (inv->kernel_alone)
		return kernel_graph(inv);
	if (inv->kernel && !plain)
		return tree_run_refuse_kernel();
	if ((inv->kernel_only || inv->user_only) && !inv->kernel) {
		say("brace: --kernel-only and --user-only show a part of what -k records\n");
		return EXIT_BRACE;
	}
	if (plain)
		event_writes_warn(inv);
	return run_graph(inv, plain);
}
