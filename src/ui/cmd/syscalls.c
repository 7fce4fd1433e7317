/* SPDX-License-Identifier: MIT */
/* brace syscalls: a table of system calls, of a trace file or of a program that is run or attached
 * to for it. Live, the main thread takes the records and the monitor's heeds interrupts (run.h);
 * the table comes when the recording ends, --lines while it lasts. */
#include <errno.h>
#include <string.h>

#include "report/syscalls.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/stream_run.h"
#include "ui/trace_file.h"
#include "ui/word_list.h"

struct syscalls_choice { enum syscalls_by by; enum syscalls_column column; };

static const char *const by_words[SYSCALLS_BY_N] = { "call", "thread", "file", "error" };
static const struct word_list by_list = { "rows by", "", by_words, SYSCALLS_BY_N };
static const struct word_list column_list = { "column", " to sort by", syscalls_column_words,
					      SYSCALLS_COLUMNS_N };

/* EXIT_BRACE: no such rows, or no such column (said). */
static int choose(const struct invocation *inv, struct syscalls_choice *c)
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

/* --- a file ------------------------------------------------------------------------------ */

static int read_file(struct invocation *inv, const struct syscalls_choice *choice)
{
	struct store_reader *reader;
	struct syscalls *s;
	struct source *source;
	int status = trace_file_open(inv, &reader);

	if (status)
		return status;
	source = store_source(reader);
	s = syscalls_new(source->info, choice->by);
	status = take_and_print(inv, choice, source, s);
	/* No errors is an answer; no calls at all is a trace without their events. */
	if (!status && !syscalls_rows(s) && (choice->by != SYSCALLS_BY_ERROR || inv->call_lines))
		say_warning("no system call is in the trace: record with -e 'raw_syscalls:*', or with -e "
			    "'syscalls:*' for --by file and --lines");
	syscalls_free(s);
	source->ops->close(source);
	store_close(reader);
	return status;
}

/* --- a program ----------------------------------------------------------------------------- */

/* The events that the table needs. Paths are in those of the calls alone, as long as they can be
 * had. */
static int name_events(struct invocation *inv, enum syscalls_by by, struct err *err)
{
	static const struct option events = { 'e', "event", .file = "set_event", .append = true },
				   bytes = { 0, "syscall-bytes", .file = "syscall_user_buf_size" };
	int e;

	if (by != SYSCALLS_BY_FILE && !inv->call_lines)
		return set_setting(inv, &events, "raw_syscalls:*", err);
	e = set_setting(inv, &bytes, "165", err);
	return e ? e : set_setting(inv, &events, "syscalls:*", err);
}

struct syscalls_run {
	struct invocation *inv;
	const struct syscalls_choice *choice;
	int status;               /* of what was printed */
};

/* Nothing of the records is kept: only the table's rows take memory, however long it runs. */
static int take_program(void *arg, struct source *source, struct err *err)
{
	struct syscalls_run *r = arg;
	struct syscalls *s = syscalls_new(source->info, r->choice->by);

	r->status = take_and_print(r->inv, r->choice, source, s);
	syscalls_free(s);
	return 0;
}

static int end_program(void *arg, const struct err *failed)
{
	const struct syscalls_run *r = arg;

	return r->status;
}

static int run_program(struct invocation *inv, const struct syscalls_choice *choice)
{
	static const struct stream_use use = { NULL, take_program, NULL, end_program };
	struct syscalls_run run = { inv, choice, 0 };
	struct err err;

	return name_events(inv, choice->by, &err) ? say_error(&err) : stream_run(inv, &use, &run);
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
	struct syscalls_choice choice;
	int status = check_lines(inv);

	if (!status)
		status = choose(inv, &choice);
	if (status)
		return status;
	if (inv->is_program && !inv->n_operands && !inv->pids.n) {
		say("brace: no program stands behind --\n");
		return EXIT_BRACE;
	}
	if (inv->is_program || inv->pids.n)
		return run_program(inv, &choice);
	if (inv->n_operands < 2)
		return read_file(inv, &choice);
	say("brace: one trace file, not %d; a program to run stands behind --\n", inv->n_operands);
	return EXIT_BRACE;
}
