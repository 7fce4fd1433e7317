/* SPDX-License-Identifier: MIT */
/* -e, -f and -R as writes to a tree's files, in which an event has to be known by name before it
 * can be set. */
#pragma once
#include "ui/invocation.h"

/* Access to the files: in this process, or through a session's socket. */
struct event_files {
	int (*echo)(void *arg, const char *path, const char *text, bool append, struct err *err);
	/* The caller frees *text. */
	int (*cat)(void *arg, const char *path, char **text, struct err *err);
	int (*mkdir)(void *arg, const char *dir, const char *name, struct err *err); /* or NULL */
	void *arg;
};

/* Whether the pattern means the event "SYSTEM:EVENT". Patterns are set_event's: SYSTEM:EVENT,
 * either of which may be missing or have globs; or the name of a system or an event. */
bool event_is_named(const char *pattern, const char *event);
/* Whether the write is of -e, -f or -R. */
bool event_write_is(const struct setting_write *w);
/* Whether there is a -R, or an event whose records only a tree makes. */
bool event_writes_trigger(const struct invocation *inv);
/* Says which events a -e means by a pattern that this run will not have, because only a tree makes
 * them and it is to run without one. */
void event_writes_warn(const struct invocation *inv);
/* event_writes_warn() where a tracer measures that makes none of the events of the system
 * osnoise. */
void event_writes_warn_measured(const struct invocation *inv);
/* Carries all of them out: definitions, those of --config, filters and triggers first, then
 * inv->lines, then what is enabled, and the monitors that make these events. 0, or -errno and *err
 * (-EINVAL: no event has the name). */
int event_writes(const struct invocation *inv, const struct event_files *f, struct err *err);
