/* SPDX-License-Identifier: MIT */
/* The caller is the thread, of whatever program, that a thread of brace works for, and that waits in the kernel for an answer
 * (of a FUSE request). If brace has to stop its program for the work, the caller can only come to a stop with an answer: it
 * gets one before, as if all went well, and the true result when it is let go. So a traced program can write to the
 * tree of its own tracer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct caller {
	pid_t tid;                             /* 0: unknown */
	int64_t result;                        /* what its system call returns by that answer */
	void (*answer)(struct caller *c);      /* gives it, from any thread */
	bool answered;
	/* Set by who has answered: lets the caller go. `result` is what its system call returns. */
	void (*let_go)(struct caller *c, int64_t result);
	void *holder;                          /* of who has set let_go */
};

/* This thread works for c until caller_end, or for nobody (NULL). */
void caller_begin(struct caller *c);
struct caller *caller_now(void); /* NULL: nobody */
/* The work is done; result is a number or -errno. True: the caller has its answer, and that was changed to this one. */
bool caller_end(int64_t result);
/* The caller of this thread's, if any, has its answer: it cannot be told of a failure by another. */
bool caller_is_answered(void);
