/* SPDX-License-Identifier: MIT */
/* The events that a question may be about, before anything runs: those of every program, and of the
 * files of the program or the processes. */
#pragma once
#include "event/catalogue.h"
#include "ui/invocation.h"

/* events_free() frees it. A file that cannot be read adds nothing. */
struct event_catalogue *question_events(const struct invocation *inv);
/* Finds the event by n characters: SYSTEM:EVENT, SYSTEM/EVENT, SYSTEM.EVENT, or EVENT, which is the
 * first of that name. NULL: there is none that can be enabled. */
const struct event_entry *question_event(struct event_catalogue *c, const char *name, size_t n);
