/* SPDX-License-Identifier: MIT */
/* A process of brace that stays when the command has ended, and serves a tree. */
#pragma once
#include "instance/instances.h"
#include "ui/invocation.h"

/* Serves until it is stopped. 0, or -errno and *err; a failure before serving has been told with
 * background_begun. */
typedef int background_server(void *arg, int told, struct err *err);

/* Runs `serve` in a process of its own, and returns when that one has begun: 0, or -errno and
 * *err. */
int background_start(background_server *serve, void *arg, struct err *err);
/* Tells the process that started this server that it serves (err NULL), or why not. Afterwards the
 * server has no terminal, / as its directory, and no descriptors of that process. told -1: it is in
 * the foreground, and nothing happens. False: the other process has gone, so there is nobody to
 * serve. */
bool background_begun(int told, const struct err *err);
/* Installs the handler for signals that end a server, except those that were ignored. SIGPIPE is
 * ignored: a reader that goes away does not end a server. */
void background_signals(void (*on_signal)(int));
/* Checks, before anything is begun, that functions that are named exist in the program argv (NULL:
 * none) and in the processes. 0, or the exit status (said). */
int background_check(const struct invocation *inv, char *const *argv);
/* Carries out the command line's options as writes to the tree's files. argv: the program to be
 * started, whose events can be set before it runs; NULL: none. Events of attached processes wait
 * for background_trace. 0, or -errno and *err. */
int background_set_up(const struct invocation *inv, char *const *argv, struct tree *tree,
		      struct err *err);
/* Starts the program, or attaches to inv's processes; *instances stays NULL if there is neither. 0,
 * or -errno and *err. */
int background_trace(const struct invocation *inv, char *const *argv, struct tree *tree,
		     struct instances **instances, struct err *err);
