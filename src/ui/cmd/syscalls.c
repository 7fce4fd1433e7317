/* SPDX-License-Identifier: MIT */
/* brace syscalls: a table of system calls, of a trace file or of a program that is run or attached
 * to for it; --lines prints the calls as they come. main() calls it; table_command.h has the ways
 * to the records. A failure is said, and is EXIT_BRACE. The main thread runs it. */
#include <errno.h>
#include <string.h>

#include "report/syscalls.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/table_command.h"
#include "ui/word_list.h"

struct syscalls_choice { enum syscalls_by by; enum syscalls_column column; };

static const char *const by_words[SYSCALLS_BY_N] = { "call", "thread", "file", "error" };
static const struct word_list by_list = { "rows by", "", by_words, SYSCALLS_BY_N };
static const struct word_list column_list = { "column", " to sort by", syscalls_column_words,
					      SYSCALLS_COLUMNS_N };

/* EXIT_BRACE: no such rows, or no such column (said). */
static int choose_rows(const struct invocation *inv, struct syscalls_choice *c)
{
	c->by = inv->by ? word_list_find(&by_list, inv->by) : SYSCALLS_BY_CALL;
	if (c->by == SYSCALLS_BY_N)
		return EXIT_BRACE;
	c->column = inv->sort ? word_list_find(&column_list, inv->sort) : SYSCALLS_TOTAL;
	return c->column == SYSCALLS_COLUMNS_N ? EXIT_BRACE : 0;
}

/* JSON is for programs: it gets no colours. EXIT_BRACE: not opened (said). */
static int open_screen(struct invocation *inv, struct screen *o)
{
	return screen_open_output(o, inv, SCREEN_PAGED,
				  inv->json || inv->call_lines ? NULL : paint_table);
}

/* Sorted only now: calls that are open at the trace's end become rows at the very end. */
static int print_rows(struct invocation *inv, const struct syscalls_choice *choice,
		      struct syscalls *s)
{
	struct screen o;

	syscalls_end(s);
	syscalls_sort(s, choice->column, inv->reverse);
	if (open_screen(inv, &o))
		return EXIT_BRACE;
	(inv->json ? syscalls_print_json : syscalls_print_table)(s, inv->limit, &o.text);
	return screen_close(&o, 0);
}

/* To the end of the file, or of the program. -errno and *err; what came before is in *s. */
static int take_all(struct source *source, struct syscalls *s, struct err *err)
{
	struct event e;
	int r;

	while ((r = source->ops->next(source, &e, err)) > 0)
		syscalls_event(s, &e);
	return r;
}

/* Prints calls while they are taken, or rows when all are; the exit status. */
static int take_and_print(struct invocation *inv, const struct syscalls_choice *choice,
			  struct source *source, struct syscalls *s)
{
	struct screen o;
	struct err err;
	int r;

	if (!inv->call_lines)
		return take_all(source, s, &err) < 0 ? say_error(&err) : print_rows(inv, choice, s);
	if (open_screen(inv, &o))
		return EXIT_BRACE;
	syscalls_print_lines(s, &o.text, inv->json);
	r = take_all(source, s, &err);
	syscalls_end(s);
	return screen_close(&o, r < 0 ? say_error(&err) : 0);
}

/* table_command.print. No errors is an answer; no calls at all is a trace without their events. */
static int print_syscalls(struct invocation *inv, const void *choice, struct source *source,
			  bool live)
{
	const struct syscalls_choice *c = choice;
	struct syscalls *s = syscalls_new(source->info, c->by);
	int status = take_and_print(inv, c, source, s);

	if (!status && !live && !syscalls_rows(s) &&
	    (c->by != SYSCALLS_BY_ERROR || inv->call_lines))
		say_warning("no system call is in the trace: record with -e 'raw_syscalls:*', or with -e "
			    "'syscalls:*' for --by file and --lines");
	syscalls_free(s);
	return status;
}

/* --- a program ----------------------------------------------------------------------------- */

/* table_command.name_events: those that the table needs. Paths are in those of the calls alone,
 * as long as they can be had. */
static int name_events(struct invocation *inv, const void *choice, struct err *err)
{
	static const struct option events = { 'e', "event", .file = "set_event", .append = true },
				   bytes = { 0, "syscall-bytes", .file = "syscall_user_buf_size" };
	const struct syscalls_choice *c = choice;
	int e;

	if (c->by != SYSCALLS_BY_FILE && !inv->call_lines)
		return set_setting(inv, &events, "raw_syscalls:*", err);
	e = set_setting(inv, &bytes, "165", err);
	return e ? e : set_setting(inv, &events, "syscalls:*", err);
}

/* Options that are about rows of the table, which --lines does not print. */
static int check_lines(const struct invocation *inv)
{
	const char *option = inv->by	  ? "--by"
			     : inv->sort    ? "--sort"
			     : inv->reverse ? "--reverse"
			     : inv->limit   ? "--limit"
					    : NULL;

	if (!inv->call_lines || !option)
		return 0;
	say("brace: %s is about rows of the table; --lines prints the single calls\n", option);
	return EXIT_BRACE;
}

int cmd_syscalls(struct invocation *inv)
{
	static const struct table_command command = { name_events, print_syscalls, false };
	struct syscalls_choice choice;
	int status = check_lines(inv);

	if (!status)
		status = choose_rows(inv, &choice);
	return status ? status : table_command_run(inv, &command, &choice);
}
