/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c, fleet_diff.c and fleet_query.c call it, on brace's only thread. A failure is said
 * when the pager has ended; a page's file has its name only without one. */
#include "ui/fleet_output.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "ui/fleet_option.h"
#include "ui/say.h"

/* A page is made of JSON's lines (html_rows), which know numbers from texts. */
static enum rows_form form_of(const struct invocation *inv)
{
	return inv->json || inv->html ? ROWS_JSON : inv->csv ? ROWS_CSV : ROWS_TABLE;
}

/* 0, or EXIT_BRACE (said). */
static int begin_page(struct fleet_output *o)
{
	int status;

	if (!o->inv->output && isatty(STDOUT_FILENO)) {
		say("brace: a page is for a browser: -o PAGE names its file\n");
		return EXIT_BRACE;
	}
	/* An old page of the name stays until the new one is whole. */
	status = screen_open_whole(&o->screen, o->inv);
	if (!status)
		html_rows_begin(&o->page, &o->screen.text);
	return status;
}

static void begin_text(struct fleet_output *o, enum rows_form form)
{
	screen_open(&o->screen, o->inv, form == ROWS_TABLE ? SCREEN_PAGED : SCREEN_PLAIN, NULL);
	if (form == ROWS_CSV)
		/* CSV has quotes of its own: escaping for a terminal would change the values in a
		 * file. */
		screen_binary(&o->screen);
}

int fleet_output_begin(struct fleet_output *o, const struct invocation *inv)
{
	const enum rows_form form = form_of(inv);
	int status = 0;

	*o = (struct fleet_output){ .inv = inv };
	if (inv->html)
		status = begin_page(o);
	else
		begin_text(o, form);
	rows_init(&o->rows, form, inv->html ? &o->page.lines : &o->screen.text);
	return status;
}

/* "brace fleet", and the operands. */
static char *title_of(const struct invocation *inv)
{
	char *title = mem_strdup("brace fleet"), *longer;

	for (int i = 0; i < inv->n_operands; i++) {
		longer = mem_printf("%s %s", title, inv->operands[i]);
		free(title);
		title = longer;
	}
	return title;
}

/* A page stays true when the terminal is gone: it tells what it lacks, too. */
static void end_page(struct fleet_output *o, const struct fleet_answer *a)
{
	char *notes[FLEET_LACKS_MOST], *title = title_of(o->inv);
	const unsigned n = fleet_option_lacks(a, notes);

	html_rows_end(&o->page, title, notes, n);
	for (unsigned i = 0; i < n; i++)
		free(notes[i]);
	free(title);
}

int fleet_output_end(struct fleet_output *o, int r, const struct fleet_answer *a,
		     const struct err *err)
{
	int status;

	rows_end(&o->rows);
	if (o->inv->html)
		end_page(o, a);
	/* The pager ends here: words on standard error before it would be overwritten by its
	 * screen. */
	status = screen_close(&o->screen, r ? EXIT_BRACE : 0);
	if (r)
		return say_error(err);
	return status ? status : fleet_option_missing(a);
}
