/* SPDX-License-Identifier: MIT */
/* The handlers of a process' signals, as places for probes (docs/events.md, "signal_deliver"):
 * which handlers there are, and which can be probed. A running process is asked by rt_sigaction
 * calls in its name; its agent tells of later handlers (PROTOCOL_HANDLER). */
#pragma once
#include "image/modules.h"
#include "tracee/tracee.h"

/* Whether deliveries have to be told, which handlers' probes do. */
bool handlers_wanted(const struct event_set *set);
/* Works like handlers_wanted, for a set that still waits for a process' events: looks at its
 * pending names. */
bool handlers_pending(struct event_set *set);
/* Adds the handlers that the process has now; none if it cannot be asked. */
void handlers_read(struct tracee *t, handler_list *out);
void handlers_look(pid_t pid, handler_list *out); /* holds the process for that */
void handlers_join(handler_list *to, const handler_list *more);
bool handlers_have(const handler_list *l, uint64_t handler);

/* Whether any of the handlers is in the module. */
bool handlers_any(const struct module *mod, const struct event_set *set,
		  const handler_list *handlers);
/* Adds the module's handlers to its probes. The module's address has to be known. */
void handlers_points(struct module *mod, const struct event_set *set, const handler_list *handlers);
/* After patches_make: notes in im->handlers what becomes of each handler. */
void handlers_plan(const struct image_request *req, const struct modules *m, struct image *im);
/* After patching: notes handlers that are not probed. */
void handlers_tell(const struct image *im, pid_t pid, struct memory_messages *messages);

/* By process: all handlers that it had since its program began. */
struct process_handlers { pid_t pid; handler_list list; };
struct process_handlers_list { struct process_handlers *at; size_t n, cap; };

/* The process' list, made if there is none; valid until another is made. */
handler_list *handlers_of(struct process_handlers_list *l, pid_t pid);
void handlers_begin(struct process_handlers_list *l, pid_t pid); /* empties it: a program begins */
void handlers_free(struct process_handlers_list *l);
