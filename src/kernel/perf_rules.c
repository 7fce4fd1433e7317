/* SPDX-License-Identifier: MIT */
/* Reads the kernel's settings of perf and makes sentences of them. Owns nothing. Called by
 * tracepoints.c and tracepoints_rings.c, on the thread that takes records. A setting that cannot be
 * read counts as the kernel's default. */
#include "kernel/perf_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tracefs.h"

#define UNKNOWN_PARANOIA (-2)   /* the kernel's own values begin at -1 */
#define LOCKABLE 516            /* KiB: the kernel's default, 512 and a page */

static int read_number(const char *file, int otherwise)
{
	char *text = kernel_tracefs_read("/proc/sys/kernel", file);
	const int value = text && *text ? (int)strtol(text, NULL, 10) : otherwise;

	free(text);
	return value;
}

int kernel_perf_paranoia(void)
{
	return read_number("perf_event_paranoid", UNKNOWN_PARANOIA);
}

int kernel_perf_lockable(void)
{
	return read_number("perf_event_mlock_kb", LOCKABLE);
}

static bool is_of_system_calls(const char *system)
{
	return !strcmp(system, "syscalls") || !strcmp(system, "raw_syscalls");
}

/* The least that the kernel's rule has to be for this event. What an event holds is root's, but for
 * system calls of one's own; those that have no registers of the program (raw_syscalls) count as
 * the kernel's own work. */
static int rule_for(const char *system, bool all)
{
	if (!is_of_system_calls(system) || all)
		return -1;
	return !strcmp(system, "syscalls") ? 2 : 1;
}

int kernel_perf_refused(const char *system, const char *name, bool all, int code, struct err *err)
{
	const int rule = rule_for(system, all);

	if (code == EMFILE || code == ENFILE)
		return err_set(err, code,
			       "perf takes a descriptor for each event, thread and CPU, and there are no more: fewer events (-e), or a higher ulimit -n");
	if ((code == EACCES || code == EPERM) && kernel_perf_paranoia() > rule)
		return err_set(err, code,
			       "only root may trace the kernel's %s:%s%s: kernel.perf_event_paranoid is %d, and it takes %d, or CAP_PERFMON",
			       system, name, all ? " of all tasks" : "", kernel_perf_paranoia(), rule);
	return err_set(err, code, "perf cannot open the kernel's %s:%s: %s", system, name,
		       strerror(code));
}

/* Both rules at once, so that the user meets no second one behind the first. */
int kernel_perf_no_numbers(const char *top, const char *system, struct err *err)
{
	const int rule = rule_for(system, false);
	char also[96] = "";

	if (kernel_perf_paranoia() > rule)
		snprintf(also, sizeof(also),
			 "; and kernel.perf_event_paranoid, which is %d, has to be %d", kernel_perf_paranoia(),
			 rule);
	return err_set(err, EACCES,
		       "only root may trace the kernel: perf wants the numbers of its events, and %s/events is not this user's to read: sudo mount -o remount,gid=GROUP,mode=750 %s lets a group%s",
		       top, top, also);
}
