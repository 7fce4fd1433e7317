/* SPDX-License-Identifier: MIT */
/* Events of threads and processes: task: and sched: of Linux 6.12, as far as a traced process can
 * tell them of itself (docs/events.md, "Threads and processes"). */
#pragma once
#include "event/catalogue.h"
#include "shared/tasks.h"

/* Every program has them: those that system calls tell, and signal:signal_deliver at handlers,
 * unless the kernel tells of it. */
extern const struct event_provider tasks_provider, signals_provider;

/* Adds an event that the kernel can tell (sched_switch, signal_deliver, page_fault_user, and
 * sched_waking and sched_wakeup, which are made of others) as one of the provider's. 0, or -errno
 * and *err: of events_add_format(), or ENOENT: it has no format here. */
int tasks_add_told(struct event_catalogue *c, const struct event_provider *of, const char *name,
		   struct err *err);
/* Returns the event's enum task_event; TASK_EVENTS: none of them. */
enum task_event tasks_kind(const struct event_entry *e);
