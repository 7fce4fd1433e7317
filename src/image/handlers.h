/* SPDX-License-Identifier: MIT */
/* The handlers of a process's signals, as places to be probed (docs/events.md, "signal_deliver"): which it has, and which of them can be. A process
 * that runs is asked by rt_sigaction in its name; what comes later its agent tells of (PROTOCOL_HANDLER). */
#pragma once
#include "image/modules.h"
#include "tracee/tracee.h"

/* Are deliveries to be told by handlers? */
bool handlers_wanted(const struct event_set *set);
/* The same of a set that waits, before a process's events have come: what it wishes for is looked at. */
bool handlers_wished(struct event_set *set);
/* Adds those that the process has now. What cannot be asked has none. */
void handlers_read(struct tracee *t, handler_list *out);
void handlers_look(pid_t pid, handler_list *out); /* holds it for that */
void handlers_join(handler_list *to, const handler_list *more);
bool handlers_have(const handler_list *l, uint64_t handler);

/* Has the module any of them? */
bool handlers_any(const struct module *mod, const struct event_set *set, const handler_list *handlers);
/* Adds the module's to its probes. Where it is must be known. */
void handlers_points(struct module *mod, const struct event_set *set, const handler_list *handlers);
/* After patches_make: what is to become of each, to im->handlers. */
void handlers_plan(const struct image_request *req, const struct modules *m, struct image *im);
/* After patching: those that are not probed are noted. */
void handlers_tell(const struct image *im, pid_t pid, struct memory_notes *notes);

/* By process: all that a process had since its program began. */
struct process_handlers { pid_t pid; handler_list list; };
struct process_handlers_list { struct process_handlers *at; size_t n, cap; };

/* The process's list, made if there is none; valid until there is another. */
handler_list *handlers_of(struct process_handlers_list *l, pid_t pid);
void handlers_begin(struct process_handlers_list *l, pid_t pid); /* a program begins: with none */
void handlers_free(struct process_handlers_list *l);
