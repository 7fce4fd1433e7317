/* SPDX-License-Identifier: MIT */
/* Writes the instance's lists of threads. Called on brace's one thread, before recording begins. A
 * process that is gone is -ESRCH and a sentence. */
#include "kernel/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* Two lists, because the kernel has two: one for functions, one for events. Appended: a write
 * that truncates would drop the threads before. */
static int follow_thread(struct kernel_instance *i, const char *tid, struct err *err)
{
	int e = kernel_instance_write(i, "set_ftrace_pid", tid, true, err);

	return e ? e : kernel_instance_write(i, "set_event_pid", tid, true, err);
}

static int leave_out_thread(struct kernel_instance *i, const char *tid, struct err *err)
{
	return kernel_instance_write(i, "set_event_notrace_pid", tid, true, err);
}

/* The kernel's lists have threads. Threads that a listed one starts while the directory is read
 * are listed by the kernel (kernel_tasks_follow()). */
static int each_thread(struct kernel_instance *i, pid_t pid,
		       int (*each)(struct kernel_instance *i, const char *tid, struct err *err),
		       struct err *err)
{
	char *path = mem_printf("/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	struct dirent *d;
	int e = dir ? 0 : err_set(err, ESRCH, "there is no process %d", (int)pid);

	while (!e && (d = readdir(dir)))
		if (*d->d_name != '.')
			e = each(i, d->d_name, err);
	if (dir)
		closedir(dir);
	free(path);
	return e;
}

/* The options come first: what a listed thread starts is listed, too. */
int kernel_tasks_follow(struct kernel_instance *i, pid_t pid, struct err *err)
{
	int e = kernel_instance_write(i, "trace_options", "function-fork", false, err);

	if (!e)
		e = kernel_instance_write(i, "trace_options", "event-fork", false, err);
	return e ? e : each_thread(i, pid, follow_thread, err);
}

/* brace itself is left out: its reads of the rings would be records, which it would read, which
 * would be records. */
int kernel_tasks_follow_others(struct kernel_instance *i, struct err *err)
{
	char pid[16];
	int e;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	e = kernel_instance_write(i, "set_ftrace_notrace_pid", pid, false, err);
	return e ? e
		 : kernel_instance_write(i, "set_event_notrace_pid", pid, false, err);
}

int kernel_tasks_choose(struct kernel_instance *i, pid_t program, const pid_t *pids, size_t n,
			struct err *err)
{
	int e = 0;

	if (!program && !n)
		return kernel_tasks_follow_others(i, err);
	if (program)
		e = kernel_tasks_follow(i, program, err);
	for (size_t k = 0; k < n && !e; k++)
		e = kernel_tasks_follow(i, pids[k], err);
	return e;
}

int kernel_tasks_leave_out(struct kernel_instance *i, pid_t pid, struct err *err)
{
	int e = kernel_instance_write(i, "trace_options", "event-fork", false, err);

	return e ? e : each_thread(i, pid, leave_out_thread, err);
}
