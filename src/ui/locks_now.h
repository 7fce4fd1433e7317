/* SPDX-License-Identifier: MIT */
/* The threads of a process that wait for a lock now, and its holder: from /proc and the locks in
 * the process's memory, without stopping it. */
#pragma once
#include <sys/types.h>

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"

struct locks_now;

/* Looks at the process twice, a moment apart: what is told is what both looks have seen. NULL and
 * *err: it may not be looked at. Free by locks_now_free(). */
struct locks_now *locks_now_look(pid_t pid, struct err *err);
void locks_now_free(struct locks_now *n);
/* Whether threads wait for each other in a circle. */
bool locks_now_is_deadlock(const struct locks_now *n);
/* Prints a line for each thread that waits for a lock, then each circle of threads. */
void locks_now_print(const struct locks_now *n, bool json, struct out *o);
