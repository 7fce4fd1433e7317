/* SPDX-License-Identifier: MIT */
/* Starting the program: what may be traced at all, and the exec with the agent in its environment. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "shared/tasks.h"

/* Resolves a command as execvp would and checks that it can be traced: *path is the file to
 * exec (free it), *image the ELF file that will run (the interpreter of a script; free it).
 * -ENOENT, -EACCES, -ENOEXEC, -EPERM (set-uid), -ENOTSUP (32-bit) with a sentence. */
int launch_resolve(const char *command, char **path, char **image, struct err *err);

/* Has it no loader that would bring the agent in (it is static), or one that the agent is not made for (musl's)?
 * Then control_launch is to start it. */
bool launch_by_hand(const char *image);

/* Forks and execs. The child runs when this returns 0; exec's own failure comes back here. In `execs`, the session
 * memory's, it says who it was. */
int launch_spawn(const char *path, char *const *argv, const char *agent, const char *socket,
		 struct task_exec_note *execs, pid_t *pid, struct err *err);
