/* SPDX-License-Identifier: MIT */
/* All kinds of events (event/provider.h), in the order in which they enter a catalogue, and what is
 * asked of all of them. Any thread. */
#pragma once
#include "event/event_set.h"

/* Adds the events that every program has, unless they are there. */
void providers_everybodys(struct event_catalogue *c);
/* Works like providers_everybodys, and adds those of a file; fd: it, open; path: for sentences. */
void providers_catalogue(int fd, const char *path, struct event_catalogue *c);
/* Returns the name of the event that is most like this one, with its system if `name` has one;
 * NULL: none is near. free() it. */
char *providers_nearest(struct event_catalogue *c, const char *name);
/* Checks that every pending name, except patterns, is an event's. 0, or -EINVAL and *err. */
int providers_check(const struct event_set *set, struct err *err);
/* Whether any event may be wanted, now or of modules to come. */
bool providers_wanted(const struct event_set *set);
