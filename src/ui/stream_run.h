/* SPDX-License-Identifier: MIT */
/* Runs a session for a command that reads its live stream itself and keeps no file: brace hist -d,
 * syscalls, top, noise, follow. brace graph prints lines, by tree_run.h. */
#pragma once
#include "ui/run.h"

struct stream_use {
	/* The session runs; the main thread. May be NULL. */
	void (*begin)(void *arg, struct source *source, struct run_monitor *m);
	/* Reads the stream to its end; the main thread. 0, or -errno and *err. */
	int (*take)(void *arg, struct source *source, struct err *err);
	/* Ten times a second until take() has returned: the monitor's thread, with its lock. May be
	 * NULL. */
	void (*look)(void *arg);
	/* The stream has ended (failed: err), the monitor too: prints. Returns the exit status. */
	int (*end)(void *arg, const struct err *failed);
	const struct session_beside *beside; /* as of run_start(); NULL: none */
};

/* Runs or attaches as the command line says. The exit status: that of `end` if it is not 0, else
 * the program's. What befell programs is said. */
int stream_run(struct invocation *inv, const struct stream_use *use, void *arg);
