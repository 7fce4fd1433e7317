/* SPDX-License-Identifier: MIT */
/* Asks terminfo, before a command takes the terminal; called on the only thread. A file of its own:
 * term.h gives a macro to each capability (columns, lines). A terminal that lacks something is
 * -ENOTTY and a sentence. */
#include "ui/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Last: its macros are words of the other headers. */
#include <curses.h>
#include <term.h>

int terminal_check(struct err *err)
{
	const char *term = getenv("TERM");
	int known;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, ENOTTY, "standard input and output are no terminal");
	if (!term || !*term)
		return err_set(err, ENOTTY, "TERM is not set: the kind of terminal is not known");
	if (setupterm(term, STDOUT_FILENO, &known) == ERR || !tigetstr("cup") ||
	    tigetstr("cup") == (char *)-1)
		return err_set(err, ENOTTY, "a terminal of the kind TERM=%s cannot be drawn on", term);
	return 0;
}
