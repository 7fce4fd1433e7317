/* SPDX-License-Identifier: MIT */
/* -e with a definition in place of a name: "p:NAME PLACE FETCHARG...", r: for a function's return.
 * PLACE is one of
 *   SYMBOL[+OFFSET]          in the program's own file
 *   MODULE:SYMBOL[+OFFSET]   in a library that the process has, or of the system
 *   PATH:SYMBOL[+OFFSET]     PATH:OFFSET, an offset in the file, as in uprobe_events
 * At a SYMBOL itself FETCHARG may be $arg1 to $arg6. */
#pragma once
#include "ui/invocation.h"

/* Makes of each definition a line of uprobe_events (inv->definitions) and the event's name (the
 * write's text). Call once, when options and operands are known. 0, or -errno and *err with the
 * column. */
int probe_options_resolve(struct invocation *inv, struct err *err);
/* Makes a line of one definition, as of -e; *name, "GROUP:EVENT", lives as long as inv's
 * definitions. 0, or -errno and *err with the column. */
int probe_option_add(struct invocation *inv, const char *text, const char **name, struct err *err);
/* Defines them in inv->events. 0, or -errno and *err. */
int probe_options_define(struct invocation *inv, struct err *err);
void probe_options_free(struct invocation *inv);
