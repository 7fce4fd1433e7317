/* SPDX-License-Identifier: MIT */
/* A caller is the thread, of any program, for which a thread of brace works and which waits in the
 * kernel for an answer (of a FUSE request). If the work needs that program stopped, there is a
 * deadlock: a thread that waits in the kernel does not stop. So the caller gets an early answer, as
 * if all had gone well, and the true result when it is let go. This is how a traced program can
 * write to the tree of its own tracer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct caller {
	pid_t tid;                             /* 0: unknown */
	int64_t result;                        /* answer() gave its system call this result */
	void (*answer)(struct caller *c);      /* gives it, from any thread */
	bool answered;
	/* Set by the function that gave the early answer: lets the caller go on, with `result` as
	 * its system call's result. */
	void (*let_go)(struct caller *c, int64_t result);
	void *holder; /* context of let_go; belongs to the code that set it */
};

/* Notes that this thread works for c until caller_end(). NULL: for nobody. */
void caller_begin(struct caller *c);
struct caller *caller_now(void); /* NULL: nobody */
/* Ends the work, of which `result` is the number or -errno, and calls let_go if it is set. Returns
 * true if the caller has had its early answer; let_go has corrected that to `result`. */
bool caller_end(int64_t result);
/* True if the caller of this thread has had its early answer: an error reply can no longer reach
 * it. */
bool caller_is_answered(void);
