/* SPDX-License-Identifier: MIT */
/* brace wakeup: who wakes whom and how long that takes, of a trace file or of a program that is run
 * or attached to for it. main() calls it; table_command.h has the ways to the records. A failure is
 * said, and is EXIT_BRACE. The main thread runs it. */
#include <string.h>

#include "report/wakeup.h"
#include "ui/commands.h"
#include "ui/function_event.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/table_command.h"
#include "ui/word_list.h"

struct wakeup_choice { enum wakeup_by by; enum wakeup_column column; };

static const struct word_list by_list = { "rows by", "", wakeup_by_words, WAKEUP_BY_N };
static const struct word_list column_list = { "column", " to sort by", wakeup_column_words,
					      WAKEUP_COLUMNS_N };

/* EXIT_BRACE: no such rows, or no such column (said). */
static int choose_rows(const struct invocation *inv, struct wakeup_choice *c)
{
	c->by = inv->by ? word_list_find(&by_list, inv->by) : WAKEUP_BY_THREAD;
	if (c->by == WAKEUP_BY_N)
		return EXIT_BRACE;
	c->column = inv->sort ? word_list_find(&column_list, inv->sort) : WAKEUP_MAX;
	return c->column == WAKEUP_COLUMNS_N ? EXIT_BRACE : 0;
}

/* JSON is for programs: it gets no colours. */
static int take_and_print(struct invocation *inv, const struct wakeup_choice *choice,
			  struct source *source, struct wakeup *w)
{
	struct screen o;
	struct event e;
	struct err err;
	int r;

	while ((r = source->ops->next(source, &e, &err)) > 0)
		wakeup_event(w, &e);
	if (r < 0)
		return say_error(&err);
	wakeup_end(w);
	wakeup_sort(w, choice->column, inv->reverse);
	if (screen_open_output(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_table))
		return EXIT_BRACE;
	(inv->json ? wakeup_print_json : wakeup_print_table)(w, inv->limit, &o.text);
	r = screen_close(&o, 0);
	if (!r && wakeup_lacks(w))
		say_warning("%s", wakeup_lacks(w));
	return r;
}

/* table_command.print: the rows say themselves what is missing. */
static int print_wakeup(struct invocation *inv, const void *choice, struct source *source,
			bool live)
{
	const struct wakeup_choice *c = choice;
	struct wakeup *w = wakeup_new(source->info, c->by);
	int status = take_and_print(inv, c, source, w);

	wakeup_free(w);
	return status;
}

/* --- a program ------------------------------------------------------------------------------ */

/* The functions of a condition variable or barrier tell which one a thread waits for; a program
 * without them waits for futexes. */
static int name_functions(struct invocation *inv, const struct option *events, struct err *err)
{
	static const char *const functions[] = { "libc:pthread_cond_wait", "libc:pthread_cond_timedwait",
						 "libc:pthread_cond_clockwait",
						 "libc:pthread_barrier_wait", NULL };

	return function_event_arm(inv, functions, events, err);
}

/* table_command.name_events. The calls' own records are of those alone whose memory has to be
 * seen: its copies cost. */
static int name_events(struct invocation *inv, const void *choice, struct err *err)
{
	static const struct option events = { 'e', "event", .file = "set_event", .append = true },
				   bytes = { 0, "syscall-bytes", .file = "syscall_user_buf_size" };
	int e = set_setting(inv, &bytes, "165", err);

	for (size_t i = 0; wakeup_needs[i].name && !e; i++)
		e = set_setting(inv, &events, wakeup_needs[i].both, err);
	return e ? e : name_functions(inv, &events, err);
}

int cmd_wakeup(struct invocation *inv)
{
	static const struct table_command command = { name_events, print_wakeup, true };
	struct wakeup_choice choice;
	int status = choose_rows(inv, &choice);

	return status ? status : table_command_run(inv, &command, &choice);
}
