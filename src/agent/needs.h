/* SPDX-License-Identifier: MIT */
/* What the agent asks of the kernel, by what for: a seccomp filter that forbids one of a kind
 * takes that ability away. Without NEED_SIGNALS nothing is recorded any more. */
#pragma once
#include <stdint.h>

#include "shared/bpf.h"

enum need {
	NEED_SIGNALS = 1,   /* blocking them while a slow path runs */
	NEED_THREADS = 2,   /* who a new thread is */
	NEED_FUTEX = 4,     /* waking the tracer, waiting for it */
	NEED_STUBS = 8,     /* making stubs of new call sites */
	NEED_YIELD = 16,    /* waiting for another thread */
	NEED_CPU = 32,      /* where rseq does not tell */
	NEED_STACKS = 64,   /* depth or threshold: a new thread's stack of calls */
	NEED_EXEC = 128,    /* looking at a program that is to be executed */
	NEED_START = 256,   /* an agent's start, in what is executed or for a module that comes */
	NEED_COPY = 512,    /* seeing whether a filter can be read */
	NEED_LOCKS = 1024,  /* mlockall without our memory */
	NEED_TASKS = 2048,  /* priorities and parents, for events of threads and processes */
	NEED_PAGES = 4096,  /* a sub-buffer's pages at once */
	NEED_HANDLERS = 8192, /* which handler a signal has */
	NEED_USER = 16384,  /* whose the process is; leaving a session memory that is not its user's */
	NEED_TEXTS = 32768, /* whether a new caller is code of a file */
	NEED_ALL = 65535,
};
#define INHERITED_LIMIT (1u << 31) /* beside them, for what is executed: agent.limit_shifted */

/* filter.c. Can the program's pointer be read? It may lead nowhere; the kernel will say so. */
bool filter_can_read(uint64_t at, uint64_t bytes);
/* The needs a filter of n instructions takes away; *first: the system call for which
 * NEED_SIGNALS is gone, if it is. */
uint32_t filter_forbids(const struct sock_filter *program, uint32_t n, uint32_t *first);
