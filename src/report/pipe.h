/* SPDX-License-Identifier: MIT */
/* Batches of events from one thread of ours that decodes them to one that uses them. */
#pragma once
#include "trace/event.h"

#define PIPE_EVENTS 2048

struct pipe;

/* fill: as store_cursor_next, called on a thread of its own until it returns 0 or less. */
struct pipe *pipe_start(int (*fill)(void *of, struct event *out, size_t n, struct err *err), void *of);
/* The next batch, valid until the next call; *n = 0 at the end. 0, or fill's -errno and *err. */
int pipe_next(struct pipe *p, const struct event **events, size_t *n, struct err *err);
/* Also before the end. */
void pipe_stop(struct pipe *p);
