/* SPDX-License-Identifier: MIT */
/* A few threads for slow work, so that the thread that waits for many peers waits for nothing
 * else. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct planners;

struct plan_job {
	void (*run)(struct plan_job *job);  /* on one of the threads */
	struct plan_job *next;
};

/* Starts the threads. They call `done` after a job was run and can be taken. 0, or -errno and
 * *err. */
int planners_start(void (*done)(void *context), void *context, struct planners **out,
		   struct err *err);
/* Queues a job. Never waits. The job is the planners' until planners_take returns it. */
void planners_give(struct planners *p, struct plan_job *job);
/* Returns a job that was run, in the order in which they finished; NULL: none. */
struct plan_job *planners_take(struct planners *p);
/* Waits for running jobs; queued ones are never run. */
void planners_stop(struct planners *p);
