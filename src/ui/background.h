/* SPDX-License-Identifier: MIT */
/* A process of brace's that stays when the command has ended, and serves a tree. */
#pragma once
#include "instance/instance.h"
#include "ui/invocation.h"

/* Serves to its end. 0, or -errno and *err, which background_begun has told if it came before serving. */
typedef int background_server(void *arg, int told, struct err *err);

/* Runs it in a process of its own, and returns when it has begun: 0, or -errno and *err. */
int background_start(background_server *serve, void *arg, struct err *err);
/* The server tells who started it: it serves (err NULL), or why not. From here on it has no terminal, and no place of
 * its own. told -1: it is in the foreground, nothing happens. False: it could not be told, so there is
 * nobody to serve. */
bool background_begun(int told, const struct err *err);
/* Calls the handler for signals that end a server, but for those that were ignored. A reader that goes away is no reason
 * to end. */
void background_signals(void (*on_signal)(int));
/* Before anything is begun: whether functions that are named are those of the program argv (NULL: none) and of the processes.
 * 0, or the exit status (said). */
int background_check(const struct invocation *inv, char *const *argv);
/* The command line's options: each is a write to a file of the tree. argv: the program that is going to be started, whose
 * events can be set before it runs; NULL: none. Events of processes that are attached to wait for background_trace. */
int background_set_up(const struct invocation *inv, char *const *argv, struct tree *tree, struct err *err);
/* Starts the program, or attaches to inv's processes; *live stays NULL if there is neither. */
int background_trace(const struct invocation *inv, char *const *argv, struct tree *tree, struct live **live, struct err *err);
