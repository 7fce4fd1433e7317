/* SPDX-License-Identifier: MIT */
/* The user's terminal as a screen of cells with keys, by ncurses: what `brace top` and `brace tui`
 * have in common. Grids come out, keys come in; nothing else of a trace reaches the terminal. One
 * at a time in a process, used by one thread at a time. */
#pragma once
#include "base/err.h"
#include "ui/invocation.h"
#include "view/grid.h"
#include "view/keys.h"

struct terminal;

/* Whether standard input and output are a terminal that can be drawn on. 0, or -errno and *err. */
int terminal_check(struct err *err);
/* Takes the terminal that the descriptors are: clears it, no echo, keys one by one. 0, or -errno
 * and *err, and the terminal is as it was. The descriptors stay the caller's. */
int terminal_open(const struct invocation *inv, int input, int output, struct terminal **out,
		  struct err *err);
/* Leaves it as it was. NULL: nothing. */
void terminal_close(struct terminal *t);
/* The descriptor that it writes to, while it is open. */
int terminal_fd(const struct terminal *t);

/* An empty grid of the terminal's present size. */
void terminal_begin(struct terminal *t, struct grid *g);
void terminal_show(struct terminal *t, const struct grid *g);
/* The next key, after at most so many milliseconds; 0: does not wait. e->key is VIEW_NONE if there
 * was none, VIEW_HUNG_UP if there will be none. */
void terminal_key(struct terminal *t, unsigned wait_ms, struct view_event *e);
/* Gives the terminal to another program and takes it back. */
void terminal_pause(struct terminal *t);
void terminal_resume(struct terminal *t);
