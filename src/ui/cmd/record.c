/* SPDX-License-Identifier: MIT */
/* brace record: runs a program and writes its trace to a file. With triggers, the records go
 * through an instance first, and the file is extracted from it (tree_run.h). main() calls it; its
 * thread takes the records, the monitor's heeds interrupts (run.h). Once the program has run, a
 * failure is one of writing the file, or of what could not be undone in a process. */
#include <string.h>
#include <sys/wait.h>

#include "collect/ring_file.h"
#include "ui/event_writes.h"
#include "ui/beside.h"
#include "ui/commands.h"
#include "ui/kernel_commands.h"
#include "ui/recorder.h"
#include "ui/record_push.h"
#include "ui/say.h"
#include "ui/summary.h"
#include "ui/run.h"
#include "ui/tree_run.h"

#define LAST_CALLS 10

static unsigned last_calls(const struct invocation *inv)
{
	/* `last` is 1 more than what --last said, so that 0 means: not given. */
	if (inv->last)
		return (unsigned)inv->last - 1;
	return inv->settings.mode == BUFFER_OVERWRITE ? LAST_CALLS : 0;
}

/* Writes the file when all triggers have run: it holds the records that are left. */
static int keep_trace(struct tree_run *t, void *arg, struct err *err)
{
	struct recorder *recorder = arg;
	const struct invocation *inv = recorder->inv;
	int e;

	if (tree_run_takes_snapshots(inv))
		recorder_run(recorder, t->instances);
	instances_wait(t->instances);
	e = instances_extract(t->instances, recorder->file, err);
	if (!e && !inv->quiet)
		say("brace: %s written: brace report and brace replay read it\n", recorder->file);
	return e;
}

/* The program's status becomes brace's only if the trace was kept. */
static int record_behind_tree(struct invocation *inv, struct record_push *push)
{
	struct tree_run_result result = { 0 };
	struct recorder recorder;
	const struct tree_run_use use = { .run = keep_trace, .arg = &recorder };
	int status;

	recorder_begin(&recorder, inv, inv->output ? inv->output : "trace.brace");
	status = tree_run_begin(inv, &use, &result);
	if (!status && tree_run_takes_snapshots(inv) && !inv->quiet)
		recorder_tell(&recorder);
	recorder_end(&recorder);
	if (status)
		return status;
	result.session.lost += result.dropped;
	if (!inv->quiet)
		summary_print(&result.session, NULL);
	record_push_end(push, recorder.failed ? NULL : recorder.file);
	return summary_stuck(&result.session) || recorder.failed
		       ? EXIT_BRACE
		       : run_exit(result.session.wait_status);
}

/* Whether a --mode says that the newest records shall be dropped. */
static bool drops_newest(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->writes.n; i++)
		if (inv->writes.at[i].file && !strcmp(inv->writes.at[i].file, "trace_options") &&
		    !strncmp(inv->writes.at[i].text, "nooverwrite", strlen("nooverwrite")))
			return true;
	return false;
}

/* Whether --mode, an option or --config has said which records are kept. */
static bool names_mode(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->writes.n; i++)
		if (inv->writes.at[i].file && !strcmp(inv->writes.at[i].file, "trace_options") &&
		    (strstr(inv->writes.at[i].text, "overwrite") ||
		     strstr(inv->writes.at[i].text, "block")))
			return true;
	return inv->settings.mode != BUFFER_STREAM;
}

/* Whether the options of the file's size fit each other and the way of recording; says why not. */
static bool sizes_fit(const struct invocation *inv)
{
	bool rotates = inv->rotate_bytes || inv->rotate_ns, flies = tree_run_takes_snapshots(inv);
	bool behind = inv->kernel_alone || tree_run_needed(inv);
	const struct { bool is; const char *sentence; } faults[] = {
		{ flies && (rotates || inv->max_bytes || inv->kernel_alone),
		  "--snapshot-on writes what is in memory: not with --rotate, --max-size and -K" },
		{ flies && drops_newest(inv),
		  "--snapshot-on keeps the newest records: not with --mode stream and block" },
		{ inv->ring && behind,
		  "--ring is for records on their way to a file: not with -K, triggers, stacks, --snapshot-on or --config's events and tracing_on" },
		{ inv->ring_kb && !inv->ring,
		  "--ring-size is the size of a ring: name its file (--ring FILE)" },
		{ rotates && behind,
		  "--rotate is for a file that is written while the program runs: not with -K, triggers, stacks, -t osnoise and its like, or --config's events and tracing_on" },
		{ inv->max_bytes && behind,
		  "--max-size is for a file that is written while the program runs: not with -K, triggers, stacks, -t osnoise and its like, or --config's events and tracing_on" },
		{ rotates && inv->max_bytes,
		  "--rotate and --max-size exclude each other: with --keep N the files together have a size" },
		{ inv->of_push.to && (flies || inv->kernel_alone),
		  "--push is for the trace of a program, written when it ends: not with --snapshot-on and -K" },
		{ inv->keep_files && !rotates && !flies,
		  "--keep is for files of --rotate and --snapshot-on: say when one is written (--rotate 100M)" },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (faults[i].is) {
			say("brace: %s\n", faults[i].sentence);
			return false;
		}
	return true;
}

/* The session's own way: a file that is written while the program runs. */
static int record_to_file(struct invocation *inv, struct record_push *push)
{
	const char *file = inv->output ? inv->output : "trace.brace";
	struct session_result result = { 0 };
	struct run_monitor run_monitor;
	struct beside beside;
	struct session *session;
	struct err err;
	int status, e;

	status = beside_begin(inv, &beside);
	if (status)
		return status;
	status = run_start(inv, file, beside_first(&beside), &session);
	if (status)
		return beside_end(&beside, inv, status);
	run_monitor_begin(&run_monitor, inv, session, push->on ? record_push_look : NULL, push);
	e = session_record(session, &result, &err);
	run_monitor_end(&run_monitor);
	session_free(session);
	if (e) {
		status = beside_end(&beside, inv, say_error(&err));
		/* Files of --rotate that were written before are in the spool. */
		record_push_end(push, NULL);
		return status;
	}
	/* Said even with -q: the file is incomplete. */
	summary_full(&result);
	if (inv->ring && ring_file_was_cut())
		say_warning("somebody cut %s while it was in use, or took parts out of it: records in it are gone, and not all are counted",
			    inv->ring);
	if (!inv->quiet) {
		summary_black_box(file, result.wait_status, last_calls(inv));
		summary_print(&result, file);
	}
	status = beside_end(&beside, inv, 0);
	record_push_end(push, file);
	/* Said even with -q: something is left to do. */
	return summary_stuck(&result) || status ? EXIT_BRACE : run_exit(result.wait_status);
}

/* The exit status is the program's; EXIT_BRACE where brace itself failed, or could not undo
 * something. What becomes of a push does not change it. */
int cmd_record(struct invocation *inv)
{
	struct record_push push;
	int status;

	if (!sizes_fit(inv))
		return EXIT_BRACE;
	if (inv->kernel_alone)
		return kernel_record(inv);
	if (tree_run_needed(inv) && inv->kernel)
		return tree_run_refuse_kernel();
	status = record_push_begin(&push, inv);
	if (!status && tree_run_needed(inv)) {
		status = record_behind_tree(inv, &push);
	} else if (!status) {
		event_writes_warn(inv);
		if (inv->ring && !names_mode(inv))
			settings_write(&inv->settings, "trace_options", "overwrite noblock", false, NULL);
		status = record_to_file(inv, &push);
	}
	record_push_free(&push);
	return status;
}
