/* SPDX-License-Identifier: MIT */
/* Waits until threads have run: a stopped thread leaves its present code only by running, and on a
 * busy machine its turn may be long in coming. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct run_time { pid_t tid; uint64_t ns; };
struct runs {
	pid_t pid;
	VEC(struct run_time) at;
};

/* Notes how long the thread has run up to now. */
void runs_note(struct runs *r, pid_t tid);
/* Waits until each noted thread has run for a while, sleeps or has ended; forgets them. */
void runs_wait(struct runs *r, unsigned most_ms);
void runs_free(struct runs *r);
