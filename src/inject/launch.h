/* SPDX-License-Identifier: MIT */
/* Starts the program: checks what may be traced, and executes with the agent in the environment. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "shared/tasks.h"
#include "tracee/launch_stop.h"

/* Resolves a command as execvp would, and checks that it can be traced. *path is the file to
 * execute, *image the ELF file that will run (for a script, its interpreter); the caller frees
 * both. -ENOENT, -EACCES, -ENOEXEC, -EPERM (set-uid) or -ENOTSUP (32-bit), with a sentence in
 * *err. */
int launch_resolve(const char *command, char **path, char **image, struct err *err);

/* Whether no loader would bring the agent in (a static program), or a loader that the agent is not
 * made for (musl's). Then control_launch has to start it. */
bool launch_by_hand(const char *image);

struct launch_how {
	const char *agent;             /* file of the agent */
	const char *socket;            /* the session's, for the agent */
	struct task_exec_note *execs;  /* the session memory's: the child notes its name there */
	const struct launch_birth *birth; /* NULL: nobody wants to know */
};

/* Forks and executes. The child runs when this returns 0; exec's own failure is returned here.
 * -ECANCELED after tracee_give_up(). After any failure but of the fork, *pid is the child, for the
 * caller to kill and to reap. */
int launch_spawn(const char *path, char *const *argv, const struct launch_how *how, pid_t *pid,
		 struct err *err);

/* 0, or -ECANCELED and *err after tracee_give_up(): who launches a program goes no further. */
int launch_check_given_up(struct err *err);
