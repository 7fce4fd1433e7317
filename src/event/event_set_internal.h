/* SPDX-License-Identifier: MIT */
/* Shared by the parts of an event_set: event_set.c (the value and its meaning), event_names.c
 * (set_event and pending names), event_set_files.c (filter and trigger files). */
#pragma once
#include "event/event_set.h"

/* Returns the event's setting, made if there is none. It is the set's, and moves when another is
 * made. */
struct event_setting *event_set_of(struct event_set *s, uint32_t index);
/* Drops the setting if it is as after boot. */
void event_set_tidy(struct event_set *s, uint32_t index);
/* Frees what the pending name owns, not its place in the list. */
void event_pending_free(struct event_pending *w);
