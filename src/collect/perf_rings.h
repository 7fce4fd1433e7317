/* SPDX-License-Identifier: MIT */
/* The kernel's account of threads, without their help: where they stop running and go on, which
 * threads they make, and their names. Opens perf events for all threads of a process, which their
 * children inherit; one ring of records for each CPU. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "shared/tasks.h"

/* Notices that can be asked for, as bits; names and new threads always come. */
#define PERF_SWITCHES 1u
#define PERF_SIGNALS 2u        /* deliveries, from the kernel's own tracepoint */
#define PERF_FAULTS 8u         /* page faults of code outside of the kernel */
#define PERF_ENDS 4u           /* the ends of threads, however they end; always told */

enum perf_notice_kind {
	PERF_LOST, /* records before this one are lost, of any thread */
	PERF_RUNS, PERF_WAITS, PERF_PREEMPTED, PERF_NAMED, PERF_MADE, PERF_SIGNAL,
	PERF_FAULT, PERF_ENDED
};

struct perf_notice {
	uint64_t ns;              /* CLOCK_MONOTONIC_RAW */
	enum perf_notice_kind kind;
	uint16_t cpu;
	uint32_t pid, tid;
	uint32_t parent;          /* PERF_MADE: the thread that called clone */
	bool executed;            /* PERF_NAMED: by execve, after the program's file */
	union {
		char comm[16];            /* PERF_NAMED */
		struct task_signal signal; /* PERF_SIGNAL */
		struct task_fault fault;   /* PERF_FAULT */
	};
};

/* An instance needs a lock of its caller (that of struct switches). perf_rings_new opens nothing
 * yet; `what` is a set of PERF_*. */
struct perf_rings;
struct perf_rings *perf_rings_new(unsigned what);
void perf_rings_free(struct perf_rings *p);

/* Whether we may have such events here, and the kernel has them. 0; or -errno, and *err names the
 * rule in the way. */
int perf_rings_allowed(unsigned what, struct err *err);
/* Follows all threads of this process from now on, and what they make. A thread that is followed
 * twice is told twice. 0, or -errno and *err; -ESRCH: the process is gone. */
int perf_rings_cover(struct perf_rings *p, pid_t pid, struct err *err);
/* Gives f everything since the last call, each CPU's in order. Returns how many records the kernel
 * had no room for. */
uint64_t perf_rings_read(struct perf_rings *p,
			 void (*f)(void *context, const struct perf_notice *n), void *context);
/* The number of rings that were full at the last reading and have had no record since: only a later
 * record would have told the loss. */
uint64_t perf_rings_full(const struct perf_rings *p);
