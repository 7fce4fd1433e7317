/* SPDX-License-Identifier: MIT */
/* brace tui: a trace file as screens, or a program that is recorded meanwhile, or a session in the
 * background (live_trace.h).
 * main() calls it; the main thread draws and takes keys, another one reads the file when a
 * screen needs a part of it, so that a long reading shows how far it is and can be stopped.
 * Fails on a file that cannot be read, and without a terminal. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/monotonic.h"
#include "store/store.h"
#include "ui/commands.h"
#include "ui/interrupt.h"
#include "ui/live_trace.h"
#include "ui/say.h"
#include "ui/terminal.h"
#include "ui/trace_file.h"
#include "view/browse.h"
#include "view/source_line.h"

#define WAIT_MS 50u       /* between two looks for signals and the terminal's size */

#define AHEAD 64u         /* keys that are kept while a part is read */

#define RENEW_NS UINT64_C(1000000000) /* a live table is read again so often */
#define QUICK_NS (RENEW_NS / 4)       /* unless that takes longer */

struct tui {
	struct browse browse;
	struct store_reader *reader;
	struct excerpt *part;           /* of a file; NULL: all of it */
	struct live_trace live;         /* path NULL: a file is looked at */
	char *name;                     /* that the last line shows */
	uint64_t size, read_ns, took_ns; /* of the last reading of a live trace */
	bool ended;                     /* it was read when nothing more came */
	struct view_event ahead[AHEAD]; /* typed while a part was read */
	/* Filled by wait_for() while a part is read; taken, and then emptied, by take_key(). */
	unsigned n_ahead, next_ahead;
	struct terminal *terminal;
	struct grid grid;
	const struct stop *signal;
};

/* --- reading ---------------------------------------------------------------------------------- */

struct loading { struct browse *b; enum browse_part part; atomic_bool over; };

/* The reading thread. The main one touches nothing of the browse meanwhile but its progress. */
static void *load_in_thread(void *arg)
{
	struct loading *l = arg;

	browse_load(l->b, l->part);
	/* Pairs with wait_for(). */
	flag_set(&l->over);
	return NULL;
}

/* Drawn by the main thread, twenty times a second. */
static void show_progress(struct tui *t, enum browse_part part)
{
	terminal_begin(t->terminal, &t->grid);
	browse_draw_progress(&t->browse, part, &t->grid);
	terminal_show(t->terminal, &t->grid);
}

/* Escape stops the reading; q and its kin end everything. False: they were pressed. */
static bool wait_for(struct tui *t, struct loading *l)
{
	struct view_event e;
	bool goes_on = true;

	while (!flag_is_set(&l->over)) {
		terminal_key(t->terminal, WAIT_MS, &e);
		if (e.key == VIEW_ESCAPE)
			/* The reading thread looks at it as it reads, and ends: the loop goes on
			 * until it has. */
			flag_set(&t->browse.progress.stop);
		if (e.key == 'q' || e.key == VIEW_INTERRUPT || e.key == VIEW_HUNG_UP ||
		    stop_asked(t->signal)) {
			flag_set(&t->browse.progress.stop);
			goes_on = false;
		} else if (e.key != VIEW_NONE && e.key != VIEW_ESCAPE && t->n_ahead < AHEAD) {
			t->ahead[t->n_ahead++] = e;
		}
		if (!flag_is_set(&l->over))
			show_progress(t, l->part);
	}
	return goes_on;
}

/* Without a thread it reads all the same, and shows nothing meanwhile. */
static bool load_part(struct tui *t, enum browse_part part)
{
	struct loading l = { &t->browse, part, false };
	pthread_t thread;
	bool goes_on = true;

	/* No thread reads yet. Afterwards a key may come before the reading begins. */
	atomic_init(&t->browse.progress.stop, false);
	if (pthread_create(&thread, NULL, load_in_thread, &l)) {
		load_in_thread(&l);
	} else {
		/* After pthread_join() all that the thread wrote is the main thread's again. */
		goes_on = wait_for(t, &l);
		pthread_join(thread, NULL);
	}
	browse_loaded(&t->browse, part);
	return goes_on;
}

/* --- the editor ------------------------------------------------------------------------------- */

/* $VISUAL and $EDITOR are the shell's words; the file's name, which a trace has chosen, is none of
 * them. */
static void run_editor(const char *path, uint32_t line)
{
	static const char script[] = "exec ${VISUAL:-${EDITOR:-vi}} \"$@\"";
	char *at = mem_printf("+%u", line);
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", script, "sh", at, path, NULL);
		/* 127 is a shell's status where a command is not found. No exit(): the parent's
		 * buffers would be written twice. */
		_exit(127);
	}
	if (pid > 0)
		child_wait(pid);
	free(at);
}

/* The path is the trace's, which may be anybody's: only a regular file is opened, by a path that is
 * no option of the editor's. */
static void edit_source(struct tui *t)
{
	char *path = source_line_file(t->browse.source.path);

	if (!path) {
		browse_say(&t->browse, "%s:%u is neither here nor below the working directory",
			   t->browse.source.path, t->browse.source.line);
		return;
	}
	/* The editor has the terminal alone: raw mode and the alternate screen are given back until
	 * it ends. */
	terminal_pause(t->terminal);
	run_editor(path, t->browse.source.line);
	terminal_resume(t->terminal);
	free(path);
}

/* --- a live trace ----------------------------------------------------------------------------- */

/* "./server (recording)" */
static void name_live(struct tui *t, const struct invocation *inv)
{
	const char *state = t->ended ? "ended" : "recording; R: what has come";

	free(t->name);
	if (t->live.session)
		t->name = mem_printf("session %s (%s)", t->live.session, state);
	else
		t->name = inv->pids.n ? mem_printf("process %d (%s)", (int)inv->pids.at[0], state)
				      : mem_printf("%s (%s)", inv->operands[0], state);
	t->browse.name = t->name;
}

/* Reads the file again as far as it is written now, or the session's buffer. Fails silently: the
 * old one stays. */
static void renew_trace(struct tui *t, const struct invocation *inv)
{
	/* Asked before the reading: if it had ended then, all of it is read now, and the last look
	 * was the last one. */
	bool ended = !live_trace_goes_on(&t->live);
	const uint64_t began = monotonic_ns();
	struct store_reader *now;
	struct err ignored;

	t->ended = ended;
	t->read_ns = began;
	if (live_trace_renew(&t->live, &ignored) || store_open(t->live.path, &now, &ignored)) {
		name_live(t, inv);
		return;
	}
	t->size = live_trace_size(&t->live);
	/* The old reader is closed after the browse has let go of what it has of it. */
	browse_renew(&t->browse, now);
	store_close(t->reader);
	t->reader = now;
	name_live(t, inv);
}

/* Tables go on by themselves, where that is quick; what a user moves in waits for R. */
static bool is_due(struct tui *t)
{
	if (!t->live.path || t->ended || monotonic_ns() - t->read_ns < RENEW_NS ||
	    !browse_is_table(&t->browse) || t->browse.prompt.label)
		return false;
	/* A session's end is told; that costs no reading, since there is no buffer any more. */
	if (t->took_ns > QUICK_NS)
		return t->live.session && !live_trace_goes_on(&t->live);
	return t->live.session || live_trace_size(&t->live) != t->size ||
	       !live_trace_goes_on(&t->live);
}

/* --- the command ------------------------------------------------------------------------------ */

/* The next key, once there is one. A signal does not end the wait: it is looked for meanwhile. */
static void take_key(struct tui *t, struct view_event *e)
{
	if (t->next_ahead < t->n_ahead) {
		*e = t->ahead[t->next_ahead++];
		return;
	}
	t->n_ahead = t->next_ahead = 0;
	do
		terminal_key(t->terminal, 10 * WAIT_MS, e);
	while (e->key == VIEW_NONE && !stop_asked(t->signal) && !is_due(t));
}

/* A live trace is read again: by R, or because take_key() has found that it is time. */
static bool is_renewed(const struct tui *t, const struct view_event *e)
{
	return t->live.path && (e->key == 'R' || e->key == VIEW_NONE) && !t->browse.prompt.label;
}

/* Ends by a key, a signal, or a reading that the user has stopped with q. */
static void run_screens(struct tui *t, const struct invocation *inv)
{
	struct view_event e;

	while (!stop_asked(t->signal)) {
		enum browse_part part = browse_wants(&t->browse);
		enum browse_answer answer;

		if (part != BROWSE_NOTHING && !load_part(t, part))
			return;
		if (browse_wants(&t->browse) != BROWSE_NOTHING)
			continue;
		terminal_begin(t->terminal, &t->grid);
		browse_draw(&t->browse, &t->grid);
		terminal_show(t->terminal, &t->grid);
		/* From the beginning of the last reading to its first picture: 0 asks for a new
		 * measurement. */
		t->took_ns = t->took_ns ? t->took_ns : monotonic_ns() - t->read_ns;
		take_key(t, &e);
		if (is_renewed(t, &e)) {
			renew_trace(t, inv);
			t->took_ns = 0;
			continue;
		}
		answer = browse_key(&t->browse, &e);
		if (answer == BROWSE_QUIT)
			return;
		if (answer == BROWSE_EDIT)
			edit_source(t);
	}
}

/* -l, -n, -g and -L are settings of what is recorded; of a file they choose what is shown. */
static int choose_functions(struct invocation *inv, struct err *err)
{
	static const char *const names[] = { "filter", "notrace", "graph-function", "library" };

	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (w->option && !strcmp(w->option->name, names[k]) &&
			    excerpt_spec_add(&inv->excerpt, names[k], w->text, err))
				return -err->code;
	}
	return 0;
}

/* 0, or the exit status (said). */
static int open_file(struct tui *t, struct invocation *inv)
{
	struct err err;
	int status;

	if (choose_functions(inv, &err))
		return say_error(&err);
	status = trace_file_open(inv, &t->reader);
	if (status)
		return status;
	if (!excerpt_spec_is_all(&inv->excerpt) &&
	    excerpt_open(&inv->excerpt, t->reader, &t->part, &err))
		return say_error(&err);
	t->name = mem_printf("%s%s", inv->n_operands ? inv->operands[0] : "trace.brace",
			     t->part ? " (a part)" : "");
	browse_init(&t->browse, t->reader, t->name);
	if (t->part)
		browse_take_part(&t->browse, t->part);
	return 0;
}

/* A program or a session is recorded by settings, and the screens show what there is. 0, or the
 * exit status (said). */
static int refuse_part(const struct invocation *inv)
{
	if (excerpt_spec_is_all(&inv->excerpt))
		return 0;
	say("brace: a part of a trace (--from, --thread, --min-duration, ...) is of a file; -l, -n, -g and -L choose what is recorded\n");
	return EXIT_BRACE;
}

/* The file, or the program that is recorded. 0, or the exit status (said). */
static int open_trace(struct tui *t, struct invocation *inv)
{
	struct err err;
	int status;

	if (inv->session_named && (inv->n_operands || inv->pids.n || inv->output)) {
		say("brace: --session names what is looked at: no file, program, -p or -o beside it (brace extract keeps a session's trace)\n");
		return EXIT_BRACE;
	}
	if (!inv->is_program && !inv->pids.n && !inv->session_named) {
		if (inv->n_operands > 1) {
			say("brace: one trace file, not %d; a program to run stands behind --\n",
			    inv->n_operands);
			return EXIT_BRACE;
		}
		return open_file(t, inv);
	}
	if (!inv->session_named && !inv->pids.n && !inv->n_operands) {
		say("brace: no program stands behind --\n");
		return EXIT_BRACE;
	}
	status = refuse_part(inv);
	if (status)
		return status;
	status = inv->session_named ? live_trace_begin_session(&t->live, inv->session)
				    : live_trace_begin(&t->live, inv, t->signal);
	if (status)
		return status;
	t->read_ns = monotonic_ns();
	t->size = live_trace_size(&t->live);
	if (store_open(t->live.path, &t->reader, &err))
		return say_error(&err);
	browse_init(&t->browse, t->reader, "");
	name_live(t, inv);
	return 0;
}

/* Interrupts are caught before anything begins: ^C then does not end brace at once, whose
 * terminal has to be put back. */
int cmd_tui(struct invocation *inv)
{
	struct tui t = { .live = { .said = -1 } };
	struct err err;
	int status;

	if (terminal_check(&err)) {
		say("brace: %s: brace report and brace replay print\n", err.text);
		return EXIT_BRACE;
	}
	t.signal = interrupt_catch();
	status = open_trace(&t, inv);
	if (status) {
		excerpt_close(t.part);
		store_close(t.reader);
		live_trace_end(&t.live, t.signal);
		return status;
	}
	if (terminal_open(inv, STDIN_FILENO, STDOUT_FILENO, &t.terminal, &err)) {
		status = say_error(&err);
	} else {
		run_screens(&t, inv);
		/* The terminal is itself again before a sentence is said: the alternate screen
		 * would take it away. */
		terminal_close(t.terminal);
		trace_file_warn_of_losses(t.browse.info);
	}
	if (stop_asked(t.signal))
		status = 128 + stop_asked(t.signal);
	browse_free(&t.browse);
	grid_free(&t.grid);
	excerpt_close(t.part);
	store_close(t.reader);
	live_trace_end(&t.live, t.signal);
	free(t.name);
	return status;
}
