/* Events of a kernel's, for a tree that no program has brought any to yet. */
#pragma once
#include "tree/instance.h"

/* sched: sched_switch, sched_process_fork, sched_process_exec, and with fields of our own
 * sched_waking, sched_wakeup; syscalls: sys_enter_openat, sys_exit_openat. */
void golden_events(struct tree *t);
/* One event with a field "a"; fails the test if it is refused. */
const struct event_entry *golden_event_of(struct tree *t, const char *system, const char *name);
