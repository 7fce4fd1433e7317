/* SPDX-License-Identifier: MIT */
/* The events that are enabled in an instance, and their filters, at one time. Reference counted: a
 * chunk refers to the selection under which its records were made, so that later settings do not
 * change what it shows. Immutable after selection_new. */
#pragma once
#include "event/event_set.h"
#include "instance/addresses.h"
#include "trace/event.h"

struct selection;

/* Returns a selection with one reference. addresses: where functions are, for filters that name
 * them; must outlive it. */
struct selection *selection_new(const struct event_set *set, struct addresses *addresses);
/* Adds a reference and returns s. From any thread. */
struct selection *selection_get(struct selection *s);
void selection_put(struct selection *s); /* NULL is fine */
bool selection_is_empty(const struct selection *s);
/* Whether filter p lets an EVENT_TRACE of the event `id` pass. No other thread changes info or
 * addresses during this call and the next function's. */
bool selection_passes(const struct filter_program *p, uint16_t id, const struct event *e,
		      const struct trace_info *info, struct addresses *addresses);
/* Whether the event of e, an EVENT_TRACE, is enabled and its filter lets e pass. */
bool selection_keeps(const struct selection *s, const struct event *e,
		     const struct trace_info *info);
