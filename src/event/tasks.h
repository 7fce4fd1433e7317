/* SPDX-License-Identifier: MIT */
/* Events of threads and processes as such: task: and sched: of Linux 6.12, as far as a traced process can tell of itself
 * (docs/events.md, "Threads and processes"). */
#pragma once
#include "event/catalogue.h"
#include "shared/tasks.h"

/* Puts all of them into the catalogue. 0 or -errno of events_add_format. */
int tasks_add(struct event_catalogue *c, struct err *err);
/* sched:sched_switch, for who can make its records. */
int tasks_add_switch(struct event_catalogue *c, struct err *err);
/* signal:signal_deliver, told by the kernel's own tracepoint, or by the handlers. */
int tasks_add_signal(struct event_catalogue *c, bool by_kernel, struct err *err);
/* Which of enum task_event an event is; TASK_EVENTS: none of them. */
enum task_event tasks_kind(const struct event_entry *e);
