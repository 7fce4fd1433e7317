/* SPDX-License-Identifier: MIT */
/* Triggers that reach outside of the trace: `notify` tells a socket or a descriptor of each record,
 * `exec` runs a command. Here is what their lines mean, and what they may reach; instance/
 * messenger.c carries it out.
 *
 * Whoever can write a `trigger` file may be the traced program. So a command, and a descriptor of
 * brace's own, are taken only if brace's command line names them, which is before any program runs.
 * A socket is taken from anybody: who may write the file is brace's user, and reaches it anyway. */
#pragma once
#include <stdatomic.h>

#include "event/trigger.h"

/* A command or descriptor that the command line allows; lives as long as brace. */
struct outside_allowed {
	char *text;              /* a command as it was written, or "fd=N" */
	char **argv;             /* the command's words; NULL: a descriptor */
	char *path;              /* the program that was meant when the command line was read */
	int fd;
};

/* The `own` of such a trigger, which messages on their way keep, too. */
struct outside {
	atomic_uint users;
	char *to;                /* what follows the kind's name: it tells triggers apart */
	const char *path;        /* of a socket, in `to`; NULL: none */
	bool json;
	const struct outside_allowed *allowed; /* a command, a descriptor; NULL: a socket */
	/* Relaxed: sums that the pump's and the messenger's threads raise, and others show. */
	_Atomic uint64_t sent, dropped;
	/* (the pump's thread) how many commands may begin, and since when that is counted */
	unsigned tokens;
	uint64_t since_ms;
	/* (the messenger's thread) */
	int socket;              /* -1: not connected */
	bool full;               /* the receiver took nothing the last time */
};

extern const struct trigger_ops outside_notify, outside_exec;

/* Allows `exec:COMMAND`, or `notify:fd=N`. Before any other thread runs. 0, or -errno and *err if
 * there is no such program that brace's user may execute, or no such descriptor; allowing twice is
 * no error. A command is words between blanks; no shell reads it. */
int outside_allow_command(const char *command, struct err *err);
int outside_allow_descriptor(const char *number, struct err *err);
/* Allows what the line of a trigger on the command line reaches; other lines are left alone. */
int outside_allow_line(const char *line, struct err *err);

/* Adds a user; returns o. The last outside_put() frees. Any thread. */
struct outside *outside_get(struct outside *o);
void outside_put(struct outside *o);
