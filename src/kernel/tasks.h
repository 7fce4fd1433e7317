/* SPDX-License-Identifier: MIT */
/* The tasks for which the kernel records in an instance. As long as none is named, it records for
 * all. */
#pragma once
#include "kernel/instance.h"

/* Records what the kernel does for the process's threads, and for all that they start. 0, or -errno
 * and *err. */
int kernel_tasks_follow(struct kernel_instance *i, pid_t pid, struct err *err);
/* Records the program (0: none) and these n processes, each with what it starts; or, if there are
 * none, everybody but the calling process. Histograms and other triggers count the same tasks'
 * events. 0, or -errno and *err. */
int kernel_tasks_choose(struct kernel_instance *i, pid_t program, const pid_t *pids, size_t n,
			struct err *err);
/* Records everything but what the kernel does for the calling process. 0, or -errno and *err. */
int kernel_tasks_follow_others(struct kernel_instance *i, struct err *err);
/* Leaves out the events of the process's threads and of all that they start. 0, or -errno and *err.
 */
int kernel_tasks_leave_out(struct kernel_instance *i, pid_t pid, struct err *err);
