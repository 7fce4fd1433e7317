/* SPDX-License-Identifier: MIT */
/* Keys as screens see them: characters by their codes, the others by these numbers, which no
 * character has. ui/terminal.c makes them. */
#pragma once

enum view_key {
	VIEW_NONE = 0, VIEW_TAB = '\t', VIEW_ENTER = '\n', VIEW_ESCAPE = 27,
	VIEW_INTERRUPT = 3, /* Ctrl-C */
	VIEW_UP = 0x110000, VIEW_DOWN, VIEW_LEFT, VIEW_RIGHT, VIEW_PAGE_UP, VIEW_PAGE_DOWN,
	VIEW_HOME, VIEW_END, VIEW_BACKSPACE, VIEW_BACK_TAB, VIEW_HELP,
	VIEW_CLICK,   /* the mouse's: struct view_event has where */
	VIEW_RESIZED,
	VIEW_HUNG_UP, /* nobody is there any more */
};

struct view_event { unsigned key, row, column; };
