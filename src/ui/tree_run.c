/* SPDX-License-Identifier: MIT */
/* Called by record and graph on the main thread. The instance's own threads pump and merge the
 * records (instance/pump.c); the monitor's thread heeds interrupts. A failed step ends what was
 * begun. */
#include "ui/outside_totals.h"
#include "ui/tree_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "tree/instance.h"
#include "ui/background.h"
#include "ui/config_option.h"
#include "ui/event_writes.h"
#include "ui/say.h"
#include "ui/run.h"

/* Each CPU's share of the kept records, if -b does not set it. */
#define KEPT_KB "1048576"
/* The buffer's size for --snapshot-on: 8 M records. */
#define RECORDER_KB "65536"

/* Makes what the command line writes to one file. The settings are not made yet: a refused write is
 * told when they are. settings_free() it. */
static struct settings settings_of(const struct invocation *inv, const char *file)
{
	struct settings s;
	struct err ignored;

	settings_init(&s);
	for (size_t i = 0; i < inv->writes.n; i++)
		if (inv->writes.at[i].file && !strcmp(inv->writes.at[i].file, file))
			settings_write(&s, file, inv->writes.at[i].text, true, &ignored);
	return s;
}

static uint64_t options_of(const struct invocation *inv)
{
	struct settings s = settings_of(inv, "trace_options");
	const uint64_t options = s.options;

	settings_free(&s);
	return options;
}

/* Whether the tracer's records are made by threads of an instance, whatever the program does. */
static bool measures(const struct invocation *inv)
{
	struct settings s = settings_of(inv, "current_tracer");
	const bool does = s.tracer->measures;

	settings_free(&s);
	return does;
}

/* A file that is written while the program runs has all that is recorded. */
static bool begins_off(const struct invocation *inv)
{
	struct settings s = settings_of(inv, "tracing_on");
	const bool off = !s.tracing_on;

	settings_free(&s);
	return off;
}

bool tree_run_takes_snapshots(const struct invocation *inv)
{
	return inv->slow.n || inv->snapshot_signals;
}

bool tree_run_needed(const struct invocation *inv)
{
	/* Options that make records out of others: stacks, and counts of repeated calls. */
	const uint64_t makers = OPTION_BIT(OPTION_STACKTRACE) | OPTION_BIT(OPTION_USERSTACKTRACE) |
				OPTION_BIT(OPTION_FUNC_STACK_TRACE) |
				OPTION_BIT(OPTION_FUNC_NO_REPEATS);

	return tree_run_takes_snapshots(inv) || event_writes_trigger(inv) || measures(inv) ||
	       begins_off(inv) || config_option_needs_tree(inv) || options_of(inv) & makers;
}

/* Why nobody can read the result of a trigger after this run; NULL: it has none. */
static const char *unread_trigger(const char *trigger)
{
	static const struct { const char *begin, *sentence; } unread[] = {
		{ "snapshot", "a trace file has no snapshot; brace start has one, for brace show "
			      "snapshot" },
		{ "hist:", "a trace file has no histogram; brace start has one, for brace show "
			   "events/SYSTEM/EVENT/hist" },
	};

	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++)
		if (!strncmp(trigger, unread[i].begin, strlen(unread[i].begin)))
			return unread[i].sentence;
	return NULL;
}

/* Writes without a file are filters and triggers of events (struct setting_write). */
static int refuse_unread(const struct invocation *inv, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];
		const char *why = w->file ? NULL : unread_trigger(w->text);

		if (why)
			return err_at(err, EINVAL, w->text, 0, "%s", why);
	}
	return config_option_refuse(inv, unread_trigger, err);
}

/* Writes the settings to the tree, before anything runs. */
static int set_up(const struct invocation *inv, char *const *argv, struct tree *tree,
		  struct err *err)
{
	int e = refuse_unread(inv, err);

	if (!e)
		e = tree_echo(tree, "current_tracer", inv->settings.tracer->name, false, err);
	if (!e)
		e = tree_echo(tree, "buffer_size_kb",
			      tree_run_takes_snapshots(inv) ? RECORDER_KB : KEPT_KB, false, err);
	if (!e && tree_run_takes_snapshots(inv))
		e = tree_echo(tree, "trace_options", "overwrite", false, err);
	if (!e)
		e = background_set_up(inv, argv, tree, err);
	return e;
}

/* Opens trace_pipe before anything is recorded: in mode block programs wait for who has it open. */
static int open_trace_pipe(struct tree_run *t, struct err *err)
{
	struct tree_node *node = tree_find(t->tree, "trace_pipe");
	int e = tree_open(node, O_RDONLY | O_NONBLOCK, 0, 0, &t->pipe, err);

	tree_put(node);
	return e;
}

/* With the settings of the command line as they are. */
static int start_plain_run(const struct invocation *inv, struct tree_run *t,
			   const struct session_beside *beside, struct err *err)
{
	const struct instances_request req = { .argv = inv->pids.n ? NULL : inv->operands,
					       .pids = inv->pids.at,
					       .n_pids = inv->pids.n,
					       .settings = &inv->settings,
					       .beside = beside,
					       .sides = inv->kernel_only ? SIDE_KERNEL
							: inv->user_only ? SIDE_USER
									 : SIDES_BOTH };
	int e = instances_start(&req, t->tree, &t->instances, err);

	/* After the start, since only then the program's own events are known. */
	if (!e)
		run_tell_unmet(inv);
	return e;
}

static int start_tree_run(const struct invocation *inv, struct tree_run *t,
			  const struct tree_run_use *use, struct err *err)
{
	char *const *argv = inv->pids.n ? NULL : inv->operands;
	int e = use->plain ? 0 : set_up(inv, argv, t->tree, err);

	if (!e && use->pipes)
		e = open_trace_pipe(t, err);
	if (e)
		return e;
	return use->plain ? start_plain_run(inv, t, use->beside, err)
			  : background_trace(inv, argv, t->tree, &t->instances, err);
}

int tree_run_refuse_kernel(void)
{
	say("brace: -k does not go with triggers (-R) of the program, nor with the tracers osnoise, timerlat and hwlat, nor with -O stacktrace, userstacktrace, func_stack_trace and func-no-repeats\n");
	return EXIT_BRACE;
}

/* The result is taken before instances_stop() ends the session. */
int tree_run_begin(struct invocation *inv, const struct tree_run_use *use,
		   struct tree_run_result *result)
{
	struct run_monitor run_monitor;
	struct tree_run t = { 0 };
	struct err err;
	int status = run_check(inv), e;

	/* After the check, which catches interrupts: none leaves a file behind. */
	if (status)
		return status;
	if (use->prints && screen_file_begin(inv, &err))
		return run_failed(&err);
	if (inv->settings.tracer->measures && strcmp(inv->settings.tracer->name, "osnoise"))
		event_writes_warn_measured(inv);
	t.tree = instance_tree_new();
	e = start_tree_run(inv, &t, use, &err);
	if (!e) {
		run_monitor_begin(&run_monitor, inv, instances_session(t.instances), NULL, NULL);
		e = use->run(&t, use->arg, &err);
		run_monitor_end(&run_monitor);
		session_result(instances_session(t.instances), &result->session);
		result->dropped = instances_dropped(t.instances);
		outside_totals_say(t.tree, inv->quiet);
	}
	screen_file_drop(inv);
	if (t.pipe)
		tree_close(t.pipe);
	instances_stop(t.instances);
	instance_tree_free(t.tree);
	return e ? run_failed(&err) : 0;
}

/* --- trace_pipe ------------------------------------------------------------------------------- */

/* The time to wait for more of it. Non-blocking reads, since the end of the run wakes no reader. */
#define LOOK_NS 10000000

/* Reads bytes of trace_pipe; 0: there will be no more. */
static ssize_t next_bytes(struct tree_run *t, struct tree_open *pipe, char *buf, size_t n,
			  struct err *err)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };

	for (;;) {
		/* Asked before reading: records that came before the end are still read. */
		bool over = instances_are_over(t->instances);
		ssize_t got = tree_read(pipe, buf, n, 0, err);

		/* Bytes, the end, or an error; -EAGAIN: nothing is there now. */
		if (got != -EAGAIN)
			return got;
		if (over)
			return 0;
		nanosleep(&nap, NULL);
	}
}

/* Bytes up to the end of line number `limit`; *limit: lines that are left then. */
static size_t cut_lines(const char *buf, size_t n, uint64_t *limit)
{
	const char *at = buf, *end;

	while (*limit && (end = memchr(at, '\n', n - (size_t)(at - buf)))) {
		at = end + 1;
		*limit -= *limit != TREE_RUN_ALL;
	}
	return *limit ? n : (size_t)(at - buf);
}

int tree_run_print(struct tree_run *t, struct screen *screen, uint64_t limit, struct err *err)
{
	char buf[65536];
	ssize_t n = 0;

	while (limit && !screen_is_done(screen) &&
	       (n = next_bytes(t, t->pipe, buf, sizeof(buf), err)) > 0) {
		out_bytes(&screen->text, buf, cut_lines(buf, (size_t)n, &limit));
		out_flush(&screen->text);
	}
	tree_close(t->pipe);
	t->pipe = NULL;
	/* Nobody reads any more: the program goes on unrecorded, and is waited for. */
	if (!limit || screen_is_done(screen))
		session_stop(instances_session(t->instances));
	instances_wait(t->instances);
	return n < 0 ? (int)n : 0;
}
