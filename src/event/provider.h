/* SPDX-License-Identifier: MIT */
/* A kind of event: where its events come from, and what holds for all of them. Each kind is one
 * constant of this type, in the file that knows its events; image/providers.c lists the kinds.
 * Events are compared by the address of their kind's constant. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct event_catalogue;

struct event_provider {
	const char *name;         /* in one word, for people */
	bool can_enable;          /* false: tracers and markers write it, whatever is enabled */
	bool without_agent;       /* no code of the agent's runs when it happens */
	bool made_here;           /* brace makes the records: programs need no change */
	bool yields;              /* a file's event of the same name takes its place */
	/* Each function may be NULL, and may be called on any thread, several times for a
	 * catalogue. An event that cannot be added is left out.
	 *
	 * Adds the events that every program has. */
	void (*add_common)(struct event_catalogue *c);
	/* Adds the events that the open file brings along. path: for sentences. A file that cannot
	 * be read has none. */
	void (*of_file)(int fd, const char *path, struct event_catalogue *c);
	/* Whether SYSTEM:EVENT, a name that no event has, may be had here. -errno and *err: it is
	 * one of this kind, and why it may not. 0: it may, or it is none of this kind. */
	int (*allowed)(const char *name, struct err *err);
};
