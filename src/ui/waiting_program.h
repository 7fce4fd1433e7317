/* SPDX-License-Identifier: MIT */
/* A program that is started as a process first, and executed when the kernel has been told of it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Zeroed: there is none. pid 0: none, or none any more; go -1: it has been released. */
struct waiting_program { pid_t pid; int go, told, wait_status; };

/* From now on SIGINT, SIGTERM and SIGHUP end nothing, and are counted by waiting_program_is_over().
 * Signals that are ignored stay so. */
void waiting_program_catch_interrupts(void);
/* Forks the process, which waits. 0, or -errno and *err. */
int waiting_program_start(struct waiting_program *w, char *const *argv, struct err *err);
/* Lets it execute the program. 0, or the exit status (said): it is none. */
int waiting_program_release(struct waiting_program *w, const char *name);
/* Whether the program has ended (pid is 0 then, and wait_status its status), or Ctrl-C is brace's:
 * the first one is the program's, if it runs, which gets it from the terminal, too. */
bool waiting_program_is_over(struct waiting_program *w);
/* Waits until that, or until the time has passed; 0: for ever. */
void waiting_program_wait(struct waiting_program *w, uint64_t duration_ns);
/* Ends a process that still waits. */
void waiting_program_drop(struct waiting_program *w);
