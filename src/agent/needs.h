/* SPDX-License-Identifier: MIT */
/* The agent's system calls by purpose: a seccomp filter that forbids one takes that ability away.
 * Without NEED_SIGNALS nothing is recorded any more. */
#pragma once
#include <stdint.h>

#include "shared/bpf.h"
#include "shared/memory.h"

enum need {
	NEED_SIGNALS = 1,   /* blocking them while a slow path runs */
	NEED_THREADS = 2,   /* asking a new thread's ids and name */
	NEED_FUTEX = 4,     /* waking the tracer, waiting for it */
	NEED_STUBS = 8,     /* making stubs of new call sites */
	NEED_YIELD = 16,    /* waiting for another thread */
	NEED_CPU = 32,      /* asking for the CPU where rseq does not tell it */
	NEED_STACKS = 64,   /* a thread's stack of calls (depth, threshold); its table of locks */
	NEED_EXEC = 128,    /* looking at a program that is to be executed */
	NEED_START = 256,   /* an agent's start, in what is executed or for a module that comes */
	NEED_COPY = 512,    /* seeing whether a filter can be read */
	NEED_LOCKS = 1024,  /* mlockall without our memory */
	NEED_TASKS = 2048,  /* priorities and parents, for events of threads and processes */
	NEED_PAGES = 4096,  /* a sub-buffer's pages at once */
	NEED_HANDLERS = 8192, /* which handler a signal has */
	/* Asking for the process's user; leaving a session memory that is not its user's. */
	NEED_USER = 16384,
	NEED_TEXTS = 32768, /* whether a new caller is code of a file */
	NEED_CHANGE = FORBIDS_CHANGE, /* other trampolines, of a tracer that changes patches */
	NEED_LEAVE = FORBIDS_LEAVE,   /* unmapping the memories when a tracer leaves */
	NEED_ALL = 262143,
};
/* Flag beside the needs, for programs that are executed: agent.limit_shifted. */
#define INHERITED_LIMIT (1u << 31)

/* seccomp.c. True if `bytes` of the program's memory at `at` can be read. The address may be any;
 * the kernel finds out. */
bool seccomp_can_read(uint64_t at, uint64_t bytes);
/* A system call, which libc_calls.c may not have led here, is about to install the filter at
 * `program` (a struct sock_fprog; mode: SECCOMP_MODE_*). Gives up reading memory by the kernel if
 * the filter forbids that, for good: whether the call fails is not known here. Signals need not be
 * blocked. */
void seccomp_seen(uint64_t mode, uint64_t program);
/* Returns the needs that a filter of n instructions takes away. *first: the system call that cost
 * NEED_SIGNALS, if it is gone. */
uint32_t seccomp_forbids(const struct sock_filter *program, uint32_t n, uint32_t *first);
