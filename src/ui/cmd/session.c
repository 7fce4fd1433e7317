/* SPDX-License-Identifier: MIT */
/* The commands of a session in the background: brace start begins it, the others send it requests
 * (daemon/ask.h). Most are one read or write of a file of the session's tree. main() calls them, on
 * brace's only thread; the session itself is a process that brace start forks. Each fails with the
 * session's own sentence, or with one that there is no such session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/path.h"
#include "daemon/ask.h"
#include "daemon/serve.h"
#include "instance/instances.h"
#include "instance/messenger.h"
#include "tracee/proc_status.h"
#include "tree/instance.h"
#include "ui/kernel_commands.h"
#include "ui/kernel_session.h"
#include "ui/background.h"
#include "ui/commands.h"
#include "ui/last_session.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/session_set.h"

/* --- start -------------------------------------------------------------------------- */

/* Set before background_signals() installs the handler. */
static struct server *server; /* for the signal handler */

/* serve_stop() may be called from a handler. */
static void on_signal(int sig)
{
	serve_stop(server);
}

/* Callbacks of the server. `context` points to the variable, because the session begins only after
 * the server's socket is open. */
static int extract_file(void *context, const char *path, struct err *err)
{
	return instances_extract(*(struct instances **)context, path, err);
}

static bool is_over(void *context)
{
	return instances_are_over(*(struct instances **)context);
}

/* Names are the programs' own words. */
static char *programs_of(void *context)
{
	struct session *session = instances_session(*(struct instances **)context);
	pid_t *pids;
	size_t n = session_processes(session, &pids);
	char *text = mem_strdup("");

	for (size_t i = 0; i < n; i++) {
		char name[16], *escaped, *longer;

		proc_name(pids[i], name);
		escaped = escape_line(name);
		longer = mem_printf("%s%d %s\n", text, (int)pids[i], escaped);
		free(escaped);
		free(text);
		text = longer;
	}
	free(pids);
	return text;
}

/* Runs in the background process until the session ends. `told` leads to the process that `brace
 * start` runs in, which waits for background_begun(). The socket opens before the program starts: a
 * second session of the same name is refused before anything is traced. */
static int serve_session(void *arg, int told, struct err *err)
{
	const struct invocation *inv = arg;
	char *const *argv = inv->pids.n ? NULL : inv->operands;
	struct tree *tree = instance_tree_new();
	struct instances *instances = NULL;
	const struct serve_request agent_socket = { inv->session, tree, extract_file, is_over,
						    programs_of, &instances };
	int e = tree_echo(tree, "current_tracer", invocation_usual_tracer(inv), false, err);

	if (inv->last_boot)
		instance_tell_last_boot(tree, inv->last_boot);
	if (!e)
		e = background_set_up(inv, argv, tree, err);
	if (!e)
		e = serve_open(&agent_socket, &server, err);
	if (!e)
		e = background_trace(inv, argv, tree, &instances, err);
	if (!e)
		background_signals(on_signal);
	if (background_begun(told, e ? err : NULL) && !e)
		serve_run(server);
	messenger_drain(MESSENGER_MS);
	instances_stop(instances);
	if (server)
		serve_close(server);
	instance_tree_free(tree);
	return e;
}

/* Makes a trace of the records that an earlier session left in the ring; without a program that is
 * all. 0, or an exit status. */
static int take_ring(struct invocation *inv)
{
	const bool begins = inv->pids.n || inv->n_operands;
	struct err err;

	if (inv->ring_kb && !inv->ring) {
		say("brace: --ring-size is the size of a ring: name its file (--ring FILE)\n");
		return EXIT_BRACE;
	}
	if (!inv->ring)
		return 0;
	if (inv->kernel_alone || (!begins && (inv->writes.n || inv->ring_kb))) {
		say("brace: --ring is for the beginning of a session of programs, or alone for what one left in it\n");
		return EXIT_BRACE;
	}
	/* The session has another working directory. */
	*vec_add(&inv->made_texts) = path_absolute(inv->ring);
	inv->ring = inv->made_texts.at[inv->made_texts.n - 1];
	if (last_session_take(inv->ring, &inv->last_boot, &err))
		return say_error(&err);
	if (inv->last_boot)
		*vec_add(&inv->made_texts) = inv->last_boot;
	if (!begins && !inv->last_boot) {
		say("brace: no session has left anything in %s\n", inv->ring);
		return EXIT_BRACE;
	}
	return 0;
}

/* With a program or -p begins a session; without, applies the options to one that runs and turns
 * recording on. */
int cmd_start(struct invocation *inv)
{
	struct err err;
	int e = take_ring(inv);

	if (e)
		return e;
	if (inv->kernel_alone)
		return kernel_session_start(inv);
	if (inv->ring && !inv->pids.n && !inv->n_operands)
		return 0;
	e = background_check(inv, inv->n_operands && !inv->pids.n ? inv->operands : NULL);

	if (e)
		return e;
	if (inv->pids.n || inv->n_operands) {
		e = background_start(serve_session, inv, &err);
	} else {
		e = session_set(inv, &err);
		if (!e)
			e = ask_echo(inv->session, "tracing_on", "1", false, &err);
	}
	return e ? say_error(&err) : 0;
}

/* --- a file of the session, or, with -k, of the kernel's ------------------------------ */

/* The kernel's session is an instance of its own tracefs, ours a process that is asked over its
 * socket. */
static int session_echo(const struct invocation *inv, const char *file, const char *text,
			struct err *err)
{
	return inv->kernel ? kernel_session_echo(file, text, err)
			   : ask_echo(inv->session, file, text, false, err);
}

/* --- writes ------------------------------------------------------------------------- */

/* Settings of a session that runs; those before a wrong one stay, as separate writes would. */
int cmd_set(struct invocation *inv)
{
	struct err err;

	if (!inv->writes.n && !inv->config_use) {
		say("brace: set needs an option that says what to set; `brace set --help` lists them\n");
		return EXIT_BRACE;
	}
	if (inv->kernel_alone)
		return kernel_session_set(inv);
	return session_set(inv, &err) ? say_error(&err) : 0;
}

static int write_one(struct invocation *inv, const char *file, const char *text)
{
	struct err err;

	return session_echo(inv, file, text, &err) ? say_error(&err) : 0;
}

/* Each is one write to a file of the session's tree. */
int cmd_stop(struct invocation *inv) { return write_one(inv, "tracing_on", "0"); }
int cmd_restart(struct invocation *inv) { return write_one(inv, "tracing_on", "1"); }
int cmd_clear(struct invocation *inv) { return write_one(inv, "trace", ""); }

int cmd_reset(struct invocation *inv)
{
	struct err err;

	if (inv->kernel)
		return kernel_reset(inv);
	return ask_end(inv->session, &err) ? say_error(&err) : 0;
}

/* --- reads -------------------------------------------------------------------------- */

/* `graph`: the file has a trace's lines, which are painted. The whole file is read before its first
 * line is printed. */
static int show_file(struct invocation *inv, const char *file, bool graph)
{
	struct screen o;
	struct err err;
	char *text;

	if (session_cat(inv, file, &text, &err))
		return say_error(&err);
	screen_open(&o, inv, SCREEN_PAGED, graph ? paint_graph : NULL);
	out_str(&o.text, text);
	free(text);
	return screen_close(&o, 0);
}

int cmd_show(struct invocation *inv)
{
	const char *file = inv->n_operands ? inv->operands[0] : "trace";

	return show_file(inv, file, !strcmp(file, "trace"));
}

/* Without an option the snapshot is printed, as the file of that name is. */
int cmd_snapshot(struct invocation *inv)
{
	/* The numbers of ftrace's file `snapshot`: 0 frees it, 1 takes one, 2 clears it. */
	const struct { bool asked; const char *text;
	} writes[] = {
		{ inv->of_snapshot.free, "0" },
		{ inv->of_snapshot.take, "1" },
		{ inv->of_snapshot.clear, "2" },
	};
	const char *text = NULL;

	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
		if (writes[i].asked && text) {
			say("brace: one of --take, --clear and --free, not several\n");
			return EXIT_BRACE;
		}
		text = writes[i].asked ? writes[i].text : text;
	}
	return text ? write_one(inv, "snapshot", text) : show_file(inv, "snapshot", true);
}

/* Callback of ask_stream; false ends it. Flushed at once, because lines are read as they come. */
static bool print_bytes(void *arg, const char *bytes, size_t n)
{
	struct screen *o = arg;

	out_bytes(&o->text, bytes, n);
	out_flush(&o->text);
	return !screen_is_done(o);
}

/* Not paged: lines come as they are recorded. */
int cmd_stream(struct invocation *inv)
{
	struct screen o;
	struct err err;
	int e;

	screen_open(&o, inv, SCREEN_PLAIN, paint_graph);
	e = ask_stream(inv->session, "trace_pipe", print_bytes, &o, &err);
	return screen_close(&o, e ? say_error(&err) : 0);
}

/* The background process writes the file, and has another working directory: so the path is made
 * whole. */
int cmd_extract(struct invocation *inv)
{
	const char *name = inv->output ? inv->output : "trace.brace";
	char *path = path_absolute(name);
	struct err err;
	int e = ask_extract(inv->session, path, &err);

	free(path);
	if (e)
		return say_error(&err);
	if (!inv->quiet)
		say("brace: %s written: brace report and brace replay read it\n", name);
	return 0;
}
