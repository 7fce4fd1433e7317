/* SPDX-License-Identifier: MIT */
/* Which events an instance keeps, at one time: those that are enabled, and that their filters let pass. Records that
 * were made under it refer to it, however it is set when somebody reads them. */
#pragma once
#include "event/event_set.h"
#include "trace/event.h"

struct selection;

/* With one reference. */
struct selection *selection_new(const struct event_set *set);
struct selection *selection_get(struct selection *s);
void selection_put(struct selection *s); /* NULL is fine */
bool selection_is_empty(const struct selection *s);
/* Whether a filter lets an EVENT_TRACE of this number (`id`) by this thread pass. */
bool selection_passes(const struct filter_program *p, uint16_t id, const struct event *e,
		      const struct trace_thread *thread);
/* An EVENT_TRACE, by this thread. */
bool selection_keeps(const struct selection *s, const struct event *e, const struct trace_thread *thread);
