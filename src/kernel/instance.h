/* SPDX-License-Identifier: MIT */
/* An instance in tracefs of brace's own: settings there disturb nobody else. It is named after the
 * process, `brace-PID`; `brace-PID-graph` if it also changed set_graph_function, set_graph_notrace,
 * max_graph_depth or tracing_thresh, of which the kernel has one for all instances. The process
 * holds a lock on the directory, so that another brace can tell what a dead one left behind. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct kernel_instance;

/* Makes it, with recording off and the clock x86-tsc. shared: files will be written that the kernel
 * has once for all. 0, or -errno and *err; then nothing is left. */
int kernel_instance_open(bool shared, struct kernel_instance **out, struct err *err);
/* Makes a second one, `brace-PID-elsewhere`, as kernel_instance_open() does. */
int kernel_instance_open_elsewhere(struct kernel_instance **out, struct err *err);
/* Makes the session of brace start -k, `brace-session` or `brace-session-graph`, which stays when
 * brace ends; its clock is the kernel's own. -EEXIST: there is one. */
int kernel_instance_begin_session(bool shared, struct kernel_instance **out, struct err *err);
/* Finds it. 0, or -errno and *err; -ENOENT: there is none. */
int kernel_instance_find_session(struct kernel_instance **out, struct err *err);
/* Frees i, and leaves the instance as it is. NULL is fine. */
void kernel_instance_leave(struct kernel_instance *i);
/* Whether files may be written that the kernel has once for all. */
bool kernel_instance_may_share(const struct kernel_instance *i);
/* Its directory, and the one above all instances; they are its own. */
const char *kernel_instance_dir(const struct kernel_instance *i);
const char *kernel_instance_top(const struct kernel_instance *i);
/* Whether the file is one of those that the kernel has once for all. */
bool kernel_instance_is_shared(const char *file);
/* `echo text > file`. 0, or -errno and *err: the sentence says what the kernel refused, and why if
 * that can be found out. */
int kernel_instance_write(struct kernel_instance *i, const char *file, const char *text,
			  bool append, struct err *err);
/* The sentence for a write that the kernel answered with e, -errno: what is missing, and what to
 * do. dir, top: the instance's, and the kernel's tracing directory. Returns -errno. */
int kernel_instance_refused(const char *top, const char *dir, const char *file, const char *text,
			    int e, struct err *err);
/* Stops recording; what was recorded stays. */
void kernel_instance_stop(struct kernel_instance *i);
/* Undoes everything, and frees i. Nothing may hold a file of it open. 0, or -errno and *err: what
 * is left. NULL is fine. */
int kernel_instance_close(struct kernel_instance *i, struct err *err);

/* The report of kernel_instances_reset() about one instance, valid during the callback. */
struct kernel_leftover {
	const char *name;       /* "brace-123" */
	pid_t pid;              /* 0: the session of brace start -k */
	bool living;            /* a brace that runs: left alone */
	const char *tracer;     /* what it was set to */
	unsigned events;        /* events that were on */
	int error;              /* positive errno: it could not be removed; 0: it is gone */
};
/* Removes what dead processes of brace left, and with `session` also the session, and nothing else.
 * Calls `each` for every instance of a brace, but for a session that stays. Returns how many these
 * were; or -errno and *err. *probes: events that they had defined, which are removed, too. */
int kernel_instances_reset(bool session,
			   void (*each)(void *context, const struct kernel_leftover *l),
			   void *context, unsigned *probes, struct err *err);
