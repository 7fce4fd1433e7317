/* SPDX-License-Identifier: MIT */
/* The processes whose tables of descriptors the monitor ebadf cannot follow: descriptors come
 * into them by ways that no record of the process's own system calls shows: a child made with
 * CLONE_FILES, io_uring, a supervisor's SECCOMP_IOCTL_NOTIF_ADDFD. What is in doubt counts as such.
 * Bounded in memory, whatever the records say. Not locked. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/event.h"
#include "trace/trace_info.h"

/* A clone that may have made a process with its parent's table. */
struct table_clone {
	uint64_t tsc;                /* of the call's beginning */
	uint32_t parent;             /* pid */
	uint32_t thread;             /* index: the caller; UINT32_MAX: it has returned */
	uint32_t image;              /* the parent's */
	uint32_t child;              /* tid, when it has returned */
	bool certain;                /* the flags are known, and say so */
};

struct table_sharing {
	const struct trace_info *info;
	VEC(struct table_clone) clones;
	VEC(uint32_t) spoiled;       /* pids */
	bool blind;                  /* all are */
	/* when the clones' children were looked for last, and in how many threads */
	uint64_t looked;
	size_t threads;
};

/* Called when records of a process's descriptors from before tsc no longer count. */
typedef void table_sharing_over(void *arg, uint32_t pid, uint64_t tsc);

/* Frees what *s has, not *s. */
void table_sharing_free(struct table_sharing *s);
/* The process cannot be followed from now on. */
void table_sharing_spoil(struct table_sharing *s, uint32_t pid);
/* The event's thread calls clone or clone3. certain: with CLONE_FILES, and no thread;
 * else that is unknown, as clone3's flags are in memory. */
void table_sharing_clone(struct table_sharing *s, const struct event *e, bool certain,
			 table_sharing_over *over, void *arg);
/* The call returns in the parent. */
void table_sharing_cloned(struct table_sharing *s, uint32_t thread, int64_t result);
/* Whether the table of the event's process can be followed at its time. A child of clone3 is
 * taken for a process with its parent's table until it has been seen as a thread, or in another
 * program: then `over` is called for both. */
bool table_sharing_is_clear(struct table_sharing *s, const struct event *e,
			    table_sharing_over *over, void *arg);
