/* SPDX-License-Identifier: MIT */
/* user_events_data and user_events_status: the kernel's interface by which programs register events
 * of their own and write their records, served by the tree. A program that is written for the
 * kernel's needs no change (docs/events.md, "Events that programs register").
 *
 * One registry for a tree, the top instance's. Any thread may call. */
#pragma once
#include "base/err.h"

struct instance;
struct user_events;

/* Nothing is registered. `top` outlives it. */
struct user_events *user_events_new(struct instance *top);
/* Clears the bits of all programs that are still there. No file is open any more. */
void user_events_free(struct user_events *u);

/* Lets the programs know which events are recorded. Called after each change of an instance's
 * settings, without locks; an event that nobody has or records any more is removed. */
void user_events_update(struct user_events *u);

/* Defines an event that stays without a program, by a line of dynamic_events, behind its `u:`. 0,
 * or -errno and *err with the column. */
int user_events_define(struct user_events *u, const char *line, struct err *err);
