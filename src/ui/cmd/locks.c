/* SPDX-License-Identifier: MIT */
/* brace locks: waits for locks and holds of them, of a trace file or of a program that is run or
 * attached to for it; of a process, who waits for whom now. main() calls it; table_command.h has
 * the ways to the records. A failure is said, and is EXIT_BRACE. The main thread runs it. */
#include <string.h>

#include "model/lock_functions.h"
#include "report/locks.h"
#include "ui/commands.h"
#include "ui/function_event.h"
#include "ui/locks_now.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/table_command.h"
#include "ui/word_list.h"

struct locks_choice { enum locks_by by; enum locks_column column; };

static const struct word_list by_list = { "rows by", "", locks_by_words, LOCKS_BY_N };
static const struct word_list column_list = { "column", " to sort by", locks_column_words,
					      LOCKS_COLUMNS_N };

/* EXIT_BRACE: no such rows, or no such column (said). */
static int choose_rows(const struct invocation *inv, struct locks_choice *c)
{
	c->by = inv->by ? word_list_find(&by_list, inv->by) : LOCKS_BY_LOCK;
	if (c->by == LOCKS_BY_N)
		return EXIT_BRACE;
	c->column = inv->sort ? word_list_find(&column_list, inv->sort) : LOCKS_WAIT;
	return c->column == LOCKS_COLUMNS_N ? EXIT_BRACE : 0;
}

/* JSON is for programs: it gets no colours. */
static int take_and_print(struct invocation *inv, const struct locks_choice *choice,
			  struct source *source, struct locks *l)
{
	struct screen o;
	struct event e;
	struct err err;
	int r;

	while ((r = source->ops->next(source, &e, &err)) > 0)
		locks_event(l, &e);
	if (r < 0)
		return say_error(&err);
	locks_end(l);
	if (screen_open_output(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_table))
		return EXIT_BRACE;
	(inv->json ? locks_print_json : locks_print_table)(l, choice->by, choice->column,
							   inv->limit, &o.text);
	return screen_close(&o, 0);
}

/* table_command.print */
static int print_locks(struct invocation *inv, const void *choice, struct source *source, bool live)
{
	struct locks *l = locks_new(source->info);
	int status = take_and_print(inv, choice, source, l);

	if (!status && !live && !locks_count(l))
		say_warning("no lock is in the trace: record with -L libc.so.6 -l 'pthread_mutex_*lock' "
			    "--args='?*' --retval='?*', or run brace locks -- PROGRAM");
	locks_free(l);
	return status;
}

/* --- a program ------------------------------------------------------------------------------ */

/* A pattern that is not all: so the registers are recorded where there is no debug information. */
#define ANY_FUNCTION "?*"

/* glibc's spin locks are written in assembler: no debug information names their argument. A program
 * without these functions has no such locks. */
static int name_spins(struct invocation *inv, const struct option *events, struct err *err)
{
	static const char *const functions[] = { "libc:pthread_spin_lock", "libc:pthread_spin_trylock",
						 "libc:pthread_spin_init", NULL };

	return function_event_arm(inv, functions, events, err);
}

/* The calls of a process that brace attaches to are recorded: a thread that waits in a lock point
 * has a frame of the agent's on its stack, which no unwinder finds any more after the detach. */
static int name_calls(struct invocation *inv, struct err *err)
{
	static const struct option
		filter = { 'l', "filter", .file = "set_ftrace_filter", .append = true },
		modules = { 'L', "library", .file = "set_ftrace_module", .append = true },
		events = { 'e', "event", .file = "set_event", .append = true },
		bytes = { 0, "syscall-bytes", .file = "syscall_user_buf_size" },
		args = { 0, "args", .append = true }, values = { 0, "retval", .append = true };
	static const char *const globs[] = { "pthread_mutex_*lock", "pthread_rwlock_*lock",
					     "pthread_spin_*", "pthread_cond_*wait", "sem_*wait" };
	int e = set_setting(inv, &modules, "libc.so.6", err);

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs) && !e; i++)
		e = set_setting(inv, &filter, globs[i], err);
	if (!e)
		e = set_args(inv, &args, ANY_FUNCTION, err);
	if (!e)
		e = set_retval(inv, &values, ANY_FUNCTION, err);
	if (!e)
		e = set_setting(inv, &bytes, "0", err);
	if (!e)
		e = set_setting(inv, &events, "syscalls:sys_enter_futex", err);
	return e ? e : name_spins(inv, &events, err);
}

/* The threads of a program that is launched add up what they do: nothing else is recorded. */
static int name_points(struct invocation *inv, struct err *err)
{
	static const struct option
		filter = { 'l', "filter", .file = "set_ftrace_filter", .append = true },
		modules = { 'L', "library", .file = "set_ftrace_module", .append = true };
	int e = set_setting(inv, &modules, "libc.so.6", err);

	for (const struct lock_function *f = lock_functions; f->name && !e; f++)
		e = set_setting(inv, &filter, f->name, err);
	inv->settings.lock_points = true;
	return e;
}

/* table_command.name_events */
static int name_locks(struct invocation *inv, const void *choice, struct err *err)
{
	return inv->pids.n ? name_calls(inv, err) : name_points(inv, err);
}

/* --- now ------------------------------------------------------------------------------------ */

/* One process after the other. 1: there is a deadlock. */
static int print_now(struct invocation *inv)
{
	struct screen o;
	int status = 0;

	if (screen_open_output(&o, inv, SCREEN_PLAIN, NULL))
		return EXIT_BRACE;
	for (size_t i = 0; i < inv->pids.n && status != EXIT_BRACE; i++) {
		struct err err;
		struct locks_now *n = locks_now_look(inv->pids.at[i], &err);

		if (!n) {
			status = say_error(&err);
			break;
		}
		locks_now_print(n, inv->json, &o.text);
		if (locks_now_is_deadlock(n))
			status = 1;
		locks_now_free(n);
	}
	return screen_close(&o, status);
}

/* A process that hangs has nothing to be recorded. */
static bool is_deadlocked(const struct invocation *inv)
{
	bool deadlock = false;

	for (size_t i = 0; i < inv->pids.n && !deadlock; i++) {
		struct err ignored;
		struct locks_now *n = locks_now_look(inv->pids.at[i], &ignored);

		deadlock = n && locks_now_is_deadlock(n);
		locks_now_free(n);
	}
	return deadlock;
}

/* A process that hangs in a deadlock is shown as with --now: recording it would wait for ever. */
int cmd_locks(struct invocation *inv)
{
	static const struct table_command command = { name_locks, print_locks, true };
	struct locks_choice choice;
	int status = choose_rows(inv, &choice);

	if (status)
		return status;
	if (inv->now && !inv->pids.n) {
		say("brace: --now looks at a process: name it with -p\n");
		return EXIT_BRACE;
	}
	if (inv->now || is_deadlocked(inv))
		return print_now(inv);
	return table_command_run(inv, &command, &choice);
}
