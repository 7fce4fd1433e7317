/* SPDX-License-Identifier: MIT */
/* Standard output: escaped (base/out.h), buffered, through a pager if it is a terminal. Failures (a
 * full disk) are noticed; a reader that went away is an end, not an error. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/new_file.h"
#include "base/out.h"
#include "ui/invocation.h"
#include "ui/paint.h"

struct screen {
	struct out text;   /* write here, with out_printf and the like */
	int fd;
	const char *name;  /* for errors: "standard output" or a file's name */
	struct paint paint; /* between text and bytes, if there is colour */
	struct out bytes;
	pid_t pager;       /* 0: none */
	struct whole_file whole; /* path NULL: it has no such file */
};

enum screen_pager { SCREEN_PLAIN, SCREEN_PAGED };

/* Opens standard output, in front of a pager if the user wants one and sees a terminal; painted if
 * `line` is given and the user wants colour. Closed by screen_close. */
void screen_open(struct screen *o, const struct invocation *inv, enum screen_pager to,
		 painter *line);
/* Makes the file of -o, if there is that option, before a program runs whose output it is for. It
 * has another name, so that a file of that name is lost only when there is something to take its
 * place. 0, or -errno and *err. */
int screen_file_begin(struct invocation *inv, struct err *err);
/* Removes that file, unless screen_open_begun() has taken it. */
void screen_file_drop(struct invocation *inv);
/* Opens that file, neither painted nor paged, and gives it its name; without -o, works like
 * screen_open(). */
void screen_open_begun(struct screen *o, struct invocation *inv, enum screen_pager to,
		       painter *line);
/* screen_file_begin(), then screen_open_begun(). A file that was begun already is taken. 0, or
 * EXIT_BRACE (said). */
int screen_open_output(struct screen *o, struct invocation *inv, enum screen_pager to,
		       painter *line);
/* Opens as screen_open_output() does, without a pager, but the file of -o has its name only when
 * screen_close() is given 0 (new_file_begin() in base/new_file.h). */
int screen_open_whole(struct screen *o, const struct invocation *inv);
/* Bytes, not text, will be written: they are escaped only for a terminal. Called before anything is
 * written. */
void screen_binary(struct screen *o);
/* Whether writing more is pointless: no space, or nobody reads. */
bool screen_is_done(const struct screen *o);
/* The text that print() writes, for free(): how much of it fits on the screen is known only when
 * all of it is there. */
char *screen_text(void (*print)(void *arg, struct out *out), void *arg);
/* Clears the terminal, and prints as many lines as it has: the rest would push the first ones out
 * of sight. */
void screen_page(struct screen *o, const char *text);
/* Flushes, waits for the pager, says what failed, frees. Returns `status`, or EXIT_BRACE. A zeroed
 * screen that was never opened is left as it is. */
int screen_close(struct screen *o, int status);
