/* SPDX-License-Identifier: MIT */
/* An input of the summary for processes whose coroutines move from thread to thread. A summary
 * reads each thread by itself, as fast as the machine can. A call that one thread began and another
 * one ended has no beginning or no end there. So the events of all threads of such a process are
 * read by time, and given as those of one of its threads: the first.
 *
 * Nobody knows that beforehand without reading everything: the reader sums up thread by thread, and
 * begins again with this input if a thread with company was on a coroutine's stack. */
#pragma once
#include "report/summary.h"

struct gathered;

/* Puts itself before the innermost of in's inputs (summary_input.inner), until gathered_free().
 * coroutines: by thread, whether it made calls on a stack that is not its own. NULL: there is
 * nothing to gather, or the input cannot be read by time. *in and what it reads outlive the
 * result. */
struct gathered *gathered_new(const struct summary_input *in, const bool *coroutines);
/* `in` of gathered_new() as it is now. The events of a gathered process are EVENT_STEPs, losses and
 * events of the program; struct event.thread is the thread that they are of. */
struct summary_input gathered_input(struct gathered *g);
/* Cursors are closed before. NULL is fine. */
void gathered_free(struct gathered *g);
