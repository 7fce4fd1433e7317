/* SPDX-License-Identifier: MIT */
/* Events of threads and processes: task: and sched: of Linux 6.12, as far as a traced process can
 * tell them of itself (docs/events.md, "Threads and processes"). */
#pragma once
#include "event/catalogue.h"
#include "shared/tasks.h"

/* Every program has them: those that system calls tell, and signal:signal_deliver at handlers,
 * unless the kernel tells of it. */
extern const struct event_provider tasks_provider, signals_provider;

/* Add sched:sched_switch, signal:signal_deliver and exceptions:page_fault_user as events of a
 * provider that the kernel tells them. Return 0 or -errno of events_add_format(). */
int tasks_add_switch(struct event_catalogue *c, const struct event_provider *of, struct err *err);
int tasks_add_signal(struct event_catalogue *c, const struct event_provider *of, struct err *err);
int tasks_add_fault(struct event_catalogue *c, const struct event_provider *of, struct err *err);
/* Returns the event's enum task_event; TASK_EVENTS: none of them. */
enum task_event tasks_kind(const struct event_entry *e);
