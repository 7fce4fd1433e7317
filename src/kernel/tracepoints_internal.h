/* SPDX-License-Identifier: MIT */
/* Declarations that tracepoints.c, which opens events, and tracepoints_rings.c, which reads their
 * rings, share. */
#pragma once
#include "base/vec.h"
#include "kernel/perf_clock.h"
#include "kernel/perf_names.h"
#include "kernel/tracepoints.h"

#define KERNEL_PERF_RECORD_MAX 65536u /* header.size has 16 bits */

struct tracepoint {
	char *system, *name, *format;
	char *filter;           /* or NULL */
	uint32_t id;
	bool user_only;         /* opened with exclude_kernel */
	int test;               /* opened for the calling thread, disabled: keeps the event ready */
};

struct tracepoint_ring {
	int fd;                 /* that the ring is mapped of */
	struct perf_event_mmap_page *page; /* NULL: no event yet */
	uint64_t bytes;
	struct kernel_made_page made;
	uint64_t told;          /* lost before the next record */
	bool full;              /* at the last reading */
};

struct opened_tracepoint { int fd; uint16_t cpu; };

/* Where a record of sched_switch has its fields; 0: there is no such event, or it is filtered. */
struct switch_fields {
	uint32_t id, bytes;
	uint16_t prev_comm, prev_pid, next_comm, next_pid, next_prio;
};

struct kernel_tracepoints {
	char *top;              /* tracefs */
	VEC(struct tracepoint) at;
	size_t last;            /* where the last pattern's begin */
	VEC(struct tracepoint_ring) cpus;
	VEC(struct opened_tracepoint) opened;
	VEC(pid_t) threads;     /* opened */
	bool all;               /* of all tasks */
	bool counts_lost;       /* events have a counter of their losses */
	uint64_t bytes;         /* asked for; 0: not */
	struct kernel_perf_clock clock;
	struct switch_fields switches;
	struct kernel_perf_names names;
	uint8_t record[KERNEL_PERF_RECORD_MAX]; /* under way, out of a ring that may wrap */
};

/* Maps the CPU's ring, of the opened event fd: no larger than what was asked for and than what the
 * kernel lets this user lock. 0, or -errno and *err. kernel_tracepoints_free() unmaps it. */
int kernel_tracepoints_map(const struct kernel_tracepoints *t, struct tracepoint_ring *r, int fd,
			   struct err *err);
/* Unmaps the ring, if it is mapped, and frees what was read of it. */
void kernel_tracepoints_unmap(struct tracepoint_ring *r);
