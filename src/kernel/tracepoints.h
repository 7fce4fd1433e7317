/* SPDX-License-Identifier: MIT */
/* The kernel's tracepoints by perf: for a user who may make no instance of tracefs, but whom the
 * kernel lets have perf events. Of the user's own processes, or of all tasks. One thread at a
 * time. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "kernel/rings.h"

struct kernel_tracepoints;

/* A set without events. 0, or -errno and *err: perf is forbidden. */
int kernel_tracepoints_new(struct kernel_tracepoints **out, struct err *err);
/* Adds the events that a pattern of set_event names ("sched:sched_switch", "syscalls:*"), and opens
 * them for a test. 0, or -errno and *err with the rule in the way: perf's, or that the events'
 * numbers, which stand in tracefs, are not to be read. */
int kernel_tracepoints_add(struct kernel_tracepoints *t, const char *pattern, struct err *err);
/* A filter for what the last kernel_tracepoints_add() has added, in the kernel's grammar. 0, or
 * -errno and *err with the column. */
int kernel_tracepoints_filter(struct kernel_tracepoints *t, const char *text, struct err *err);
/* KiB of each CPU's ring; without it as much as the kernel gives this user, at most 1 MiB. */
void kernel_tracepoints_size(struct kernel_tracepoints *t, uint64_t kib);
/* Records events of the process's threads, and of all that they start, from now on. 0, or -errno
 * and *err. */
int kernel_tracepoints_follow(struct kernel_tracepoints *t, pid_t pid, struct err *err);
/* Records events of all tasks but the calling process. 0, or -errno and *err. */
int kernel_tracepoints_follow_all(struct kernel_tracepoints *t, struct err *err);
/* Calls `each` with every event, and the text of its `format` file. 0, or the first -errno. */
int kernel_tracepoints_each(const struct kernel_tracepoints *t,
			    int (*each)(void *context, const char *system, const char *format,
					struct err *err),
			    void *context, struct err *err);
/* Moves what the kernel has to the rings, as pages. Returns how many. */
size_t kernel_tracepoints_read(struct kernel_tracepoints *t, struct kernel_rings *rings);
/* "TID NAME" lines of the names that the last reading brought; t's own, until the next one. */
const char *kernel_tracepoints_names(const struct kernel_tracepoints *t);
/* The name that a thread has had last. False: it is not known. */
bool kernel_tracepoints_name(const void *t, uint32_t tid, char comm[TRACE_COMM]);
/* Records no more; what was recorded stays, for a last reading. */
void kernel_tracepoints_stop(struct kernel_tracepoints *t);
/* Records of a CPU that found no room, by the kernel's counters where it has them (Linux 6.0);
 * `seen`: those that were told among the records. */
uint64_t kernel_tracepoints_lost(const struct kernel_tracepoints *t, uint16_t cpu, uint64_t seen);
/* NULL is fine. */
void kernel_tracepoints_free(struct kernel_tracepoints *t);
