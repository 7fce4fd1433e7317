/* SPDX-License-Identifier: MIT */
/* brace tui: a trace file as screens. main() calls it; the main thread draws and takes keys,
 * another one reads the file when a screen needs a part of it, so that a long reading shows how far
 * it is and can be stopped. Fails on a file that cannot be read, and without a terminal. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/commands.h"
#include "ui/interrupt.h"
#include "ui/say.h"
#include "ui/terminal.h"
#include "ui/trace_file.h"
#include "view/browse.h"

#define WAIT_MS 50u       /* between two looks for signals and the terminal's size */

#define AHEAD 64u         /* keys that are kept while a part is read */

struct tui {
	struct browse browse;
	struct view_event ahead[AHEAD]; /* typed while a part was read */
	unsigned n_ahead, next_ahead;
	struct terminal *terminal;
	struct grid grid;
	const volatile sig_atomic_t *signal;
};

/* --- reading ---------------------------------------------------------------------------------- */

struct loading { struct browse *b; enum browse_part part; atomic_bool over; };

static void *load(void *arg)
{
	struct loading *l = arg;

	browse_load(l->b, l->part);
	l->over = true;
	return NULL;
}

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

	while (!l->over) {
		terminal_key(t->terminal, WAIT_MS, &e);
		if (e.key == VIEW_ESCAPE)
			t->browse.progress.stop = true;
		if (e.key == 'q' || e.key == VIEW_INTERRUPT || e.key == VIEW_HUNG_UP ||
		    *t->signal) {
			t->browse.progress.stop = true;
			goes_on = false;
		} else if (e.key != VIEW_NONE && e.key != VIEW_ESCAPE && t->n_ahead < AHEAD) {
			t->ahead[t->n_ahead++] = e;
		}
		if (!l->over)
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

	if (pthread_create(&thread, NULL, load, &l)) {
		load(&l);
	} else {
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
	int status;

	if (!pid) {
		execl("/bin/sh", "sh", "-c", script, "sh", at, path, NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	free(at);
}

static void edit(struct tui *t)
{
	const char *path = t->browse.source.path;
	struct stat st;

	if (*path != '/' || stat(path, &st) || !S_ISREG(st.st_mode)) {
		browse_say(&t->browse, "%s:%u is not here", path, t->browse.source.line);
		return;
	}
	terminal_pause(t->terminal);
	run_editor(path, t->browse.source.line);
	terminal_resume(t->terminal);
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
	while (e->key == VIEW_NONE && !*t->signal);
}

static void run(struct tui *t)
{
	struct view_event e;

	while (!*t->signal) {
		enum browse_part part = browse_wants(&t->browse);
		enum browse_answer answer;

		if (part != BROWSE_NOTHING && !load_part(t, part))
			return;
		if (browse_wants(&t->browse) != BROWSE_NOTHING)
			continue;
		terminal_begin(t->terminal, &t->grid);
		browse_draw(&t->browse, &t->grid);
		terminal_show(t->terminal, &t->grid);
		take_key(t, &e);
		answer = browse_key(&t->browse, &e);
		if (answer == BROWSE_QUIT)
			return;
		if (answer == BROWSE_EDIT)
			edit(t);
	}
}

int cmd_tui(struct invocation *inv)
{
	const char *name = inv->n_operands ? inv->operands[0] : "trace.brace";
	struct tui t = { .terminal = NULL };
	struct store_reader *reader;
	struct err err;
	int status;

	if (terminal_check(&err)) {
		say("brace: %s: brace report and brace replay print\n", err.text);
		return EXIT_BRACE;
	}
	status = trace_file_open(inv, &reader);
	if (status)
		return status;
	t.signal = interrupt_catch();
	browse_init(&t.browse, reader, name);
	if (terminal_open(inv, STDIN_FILENO, STDOUT_FILENO, &t.terminal, &err)) {
		status = say_error(&err);
	} else {
		run(&t);
		terminal_close(t.terminal);
		trace_file_warn_of_losses(t.browse.info);
	}
	if (*t.signal)
		status = 128 + *t.signal;
	browse_free(&t.browse);
	grid_free(&t.grid);
	store_close(reader);
	return status;
}
