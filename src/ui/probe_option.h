/* SPDX-License-Identifier: MIT */
/* -e with a definition in place of a name: "p:NAME PLACE FETCHARG...", r: for a function's return.
 * PLACE is one of
 *   SYMBOL[+OFFSET]          in the program's own file
 *   FUNCTION[@FILE]:LINE     a line counted from the function's own; FILE:LINE one of the file
 *   MODULE:PLACE             in a library that the process has, or of the system
 *   PATH:PLACE               PATH:OFFSET, an offset in the file, as in uprobe_events
 * FETCHARG may be an expression of the source; at a SYMBOL itself also $arg1 to $arg6
 * (image/source_probe.h). "f:NAME [MODULE:]GLOB[%return] FETCHARG..." is an event at all functions
 * that match and can be probed; "e:NAME SYSTEM/EVENT ..." and "t:NAME TRACEPOINT ..." are lines of
 * dynamic_events. */
#pragma once
#include "ui/invocation.h"

/* Makes of each definition a line of uprobe_events (inv->definitions) and the event's name (the
 * write's text). Call once, when options and operands are known. 0, or -errno and *err with the
 * column. */
int probe_options_resolve(struct invocation *inv, struct err *err);
/* Makes a line of one definition, as of -e; *name, "GROUP:EVENT", lives as long as inv's
 * definitions. 0, or -errno and *err with the column. */
int probe_option_line(struct invocation *inv, const char *text, const char **name, struct err *err);
/* Whether one of them needs a tree, which makes its records. */
bool probe_options_in_tree(const struct invocation *inv);
/* Defines them in inv->events. 0, or -errno and *err. */
int probe_options_define(struct invocation *inv, struct err *err);
/* Adds a probe as perf probe takes it, [[GROUP:]NAME=]PLACE [ARGUMENT]..., to the writes; `file`,
 * NULL: none, is the one that PLACE is in. A text that begins with p: or r: stays. `option` names
 * the write in errors. The made texts live as long as *inv. */
void probe_options_add_perf(struct invocation *inv, const struct option *option, const char *text,
		       const char *file);
/* The file of the program that is started or attached to; NULL: there is none. Free it. */
char *probe_options_program(const struct invocation *inv);
void probe_options_free(struct invocation *inv);
