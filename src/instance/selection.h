/* SPDX-License-Identifier: MIT */
/* The events that are enabled in an instance, and their filters, at one time. Reference counted: a chunk refers to the selection
 * under which its records were made, so that later settings do not change what it shows. */
#pragma once
#include "event/event_set.h"
#include "instance/addresses.h"
#include "trace/event.h"

struct selection;

/* With one reference. addresses: where functions lie, for filters; they outlive it. */
struct selection *selection_new(const struct event_set *set, struct addresses *addresses);
struct selection *selection_get(struct selection *s);
void selection_put(struct selection *s); /* NULL is fine */
bool selection_is_empty(const struct selection *s);
/* Whether a filter lets an EVENT_TRACE of this number (`id`) pass. Here and below nobody changes info or addresses meanwhile. */
bool selection_passes(const struct filter_program *p, uint16_t id, const struct event *e, const struct trace_info *info,
		      struct addresses *addresses);
/* An EVENT_TRACE. */
bool selection_keeps(const struct selection *s, const struct event *e, const struct trace_info *info);
