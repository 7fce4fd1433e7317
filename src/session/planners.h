/* SPDX-License-Identifier: MIT */
/* A few threads that do what takes long, so that who waits for many peers waits for nothing else. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct planners;

struct plan_job {
	void (*run)(struct plan_job *job);  /* in one of the threads */
	struct plan_job *next;
};

/* `done` is called, from one of the threads, after a job is run and can be taken. */
int planners_start(void (*done)(void *context), void *context, struct planners **out, struct err *err);
/* Never waits. The job is the planners' until planners_take gives it back. */
void planners_give(struct planners *p, struct plan_job *job);
/* One that is run, in the order in which they came to be; NULL: none. */
struct plan_job *planners_take(struct planners *p);
/* Waits for those that run; the others are never run. */
void planners_stop(struct planners *p);
