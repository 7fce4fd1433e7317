/* SPDX-License-Identifier: MIT */
/* The calls of one thread of a trace, step by step. */
#pragma once
#include "report/summary.h"
#include "trace/calls.h"

#define THREAD_CALLS_EVENTS 2048 /* elements of the array that thread_calls_read() works in */

/* Gives the thread's steps to step(), in their order. `events` is the caller's, for one thread
 * after another. 0, also if the thread has no records, or -errno and *err. */
int thread_calls_read(const struct summary_input *in, uint32_t thread, struct event *events,
		      calls_emit *step, void *arg, struct err *err);
