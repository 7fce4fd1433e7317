/* SPDX-License-Identifier: MIT */
/* What the parts of an event_set share: event_set.c (the value, and what it means), event_names.c (set_event and
 * wishes), event_set_files.c (what the files of an event show and take). */
#pragma once
#include "event/event_set.h"

/* The event's setting, made if there is none. */
struct event_setting *event_set_of(struct event_set *s, uint32_t index);
/* Takes it out if it is as after boot. */
void event_set_tidy(struct event_set *s, uint32_t index);
void event_wish_free(struct event_wish *w);
