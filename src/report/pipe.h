/* SPDX-License-Identifier: MIT */
/* Passes batches of events from a thread that decodes them to the thread that uses them. */
#pragma once
#include "trace/event.h"

#define PIPE_EVENTS 2048

struct pipe;

/* fill: called like store_cursor_next, on a thread of its own, until it returns 0 or less.
 * pipe_stop frees the result; it is never NULL: a thread that cannot be started is reported by
 * pipe_next. */
struct pipe *pipe_start(int (*fill)(void *of, struct event *out, size_t n, struct err *err),
			void *of);
/* Gives the next batch, valid until the next call; *n = 0 at the end. 0, or fill's -errno and
 * *err. */
int pipe_next(struct pipe *p, const struct event **events, size_t *n, struct err *err);
/* Ends the thread and frees the pipe; also before the end of the events. */
void pipe_stop(struct pipe *p);
