/* SPDX-License-Identifier: MIT The kernel's events sched:sched_waking and sched:sched_wakeup as far
 * as its tests of ftrace ask for them, of kern.c and kern_calls.c. */
#pragma once
#include <brace/event.h>

#define WOKEN(name)                                                                                                                 \
	BRACE_EVENT(sched, name, BRACE_PROTO(const char *comm, int pid, int prio), BRACE_ARGS(comm, pid, prio),                     \
		BRACE_FIELDS(BRACE_ARRAY(char, comm, 16, comm), BRACE_FIELD(int, pid, pid), BRACE_FIELD(int, prio, prio),                    \
			     BRACE_FIELD(int, target_cpu, 0)),                                                                      \
		BRACE_PRINT("comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu))
WOKEN(sched_waking)
WOKEN(sched_wakeup)
