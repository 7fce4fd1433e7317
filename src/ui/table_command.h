/* SPDX-License-Identifier: MIT */
/* Commands that make one table of a trace file's records, or of a program's while it runs: brace
 * syscalls, wakeup, locks. */
#pragma once
#include "trace/event.h"
#include "ui/invocation.h"

struct table_command {
	/* Names the events that a program has to record for it. 0, or -errno and *err. */
	int (*name_events)(struct invocation *inv, const void *choice, struct err *err);
	/* Takes the source's events to their end, and prints. live: of a program; else of a file,
	 * of which a table without rows says what is missing in it. Returns the exit status. */
	int (*print)(struct invocation *inv, const void *choice, struct source *source, bool live);
	bool ordered; /* a program's records come by time, over all threads */
};

/* FILE, -- PROGRAM or -p PID, as the command line says. choice is handed on. Returns the exit
 * status; what is wrong has been said. */
int table_command_run(struct invocation *inv, const struct table_command *c, const void *choice);
