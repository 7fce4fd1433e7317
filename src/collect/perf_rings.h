/* SPDX-License-Identifier: MIT */
/* What the kernel tells of threads without any of their help: where they stop running and go on, which they make and how
 * they are called. perf events of all threads of a process, which their children inherit; one ring of records for each CPU. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "shared/tasks.h"

/* What is asked for beside names and who makes whom. */
#define PERF_SWITCHES 1u
#define PERF_SIGNALS 2u        /* deliveries, from the kernel's own tracepoint */
#define PERF_ENDS 4u           /* threads that end, in whatever way; told always */

enum perf_news_kind {
	PERF_LOST /* records before this one, of any thread */,
	PERF_RUNS, PERF_WAITS, PERF_PREEMPTED, PERF_NAMED, PERF_MADE, PERF_SIGNAL, PERF_ENDED
};

struct perf_news {
	uint64_t ns;              /* CLOCK_MONOTONIC_RAW */
	enum perf_news_kind kind;
	uint16_t cpu;
	uint32_t pid, tid;
	uint32_t parent;          /* PERF_MADE: the thread that made it */
	union {
		char comm[16];            /* PERF_NAMED */
		struct task_signal signal; /* PERF_SIGNAL */
	};
};

struct perf_rings;
struct perf_rings *perf_rings_new(unsigned what);
void perf_rings_free(struct perf_rings *p);

/* May we have one of these, and does the kernel? 0; or -errno, and *err names the rule in the way. */
int perf_rings_allowed(unsigned what, struct err *err);
/* From now on all of this process, and what it makes. What is there twice comes twice. 0, or -errno and *err;
 * -ESRCH: it is gone. */
int perf_rings_cover(struct perf_rings *p, pid_t pid, struct err *err);
/* Everything since the last call, of each CPU in order. How many records the kernel had no room for. */
uint64_t perf_rings_read(struct perf_rings *p, void (*f)(void *context, const struct perf_news *n), void *context);
/* Rings that were full at the last reading, and had no record since, which would say what there was no room for. */
uint64_t perf_rings_full(const struct perf_rings *p);
