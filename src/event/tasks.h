/* SPDX-License-Identifier: MIT */
/* Events of threads and processes: task: and sched: of Linux 6.12, as far as a traced process can
 * tell them of itself (docs/events.md, "Threads and processes"). */
#pragma once
#include "event/catalogue.h"
#include "shared/tasks.h"

/* Adds all of them to the catalogue. Returns 0 or -errno of events_add_format(). */
int tasks_add(struct event_catalogue *c, struct err *err);
/* Adds sched:sched_switch, for sessions that can make its records. */
int tasks_add_switch(struct event_catalogue *c, struct err *err);
/* Adds signal:signal_deliver, recorded by the kernel's own tracepoint, or at the handlers. */
int tasks_add_signal(struct event_catalogue *c, bool by_kernel, struct err *err);
/* Returns the event's enum task_event; TASK_EVENTS: none of them. */
enum task_event tasks_kind(const struct event_entry *e);
