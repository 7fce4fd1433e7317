/* SPDX-License-Identifier: MIT */
/* -e, -f and -R as writes to the files of a tree, in which events are known by name before they can be set. */
#pragma once
#include "ui/invocation.h"

/* Where the files are: in this process, or behind a session's socket. */
struct event_files {
	int (*echo)(void *arg, const char *path, const char *text, bool append, struct err *err);
	int (*cat)(void *arg, const char *path, char **text, struct err *err); /* free() it */
	void *arg;
};

/* Whether the pattern, as set_event takes it (SYSTEM:EVENT, either of which may be missing or have *; or the name of a system
 * or an event), means the event "SYSTEM:EVENT". */
bool event_is_named(const char *pattern, const char *event);
/* Whether the write is one of these. */
bool event_write_is(const struct setting_write *w);
/* Whether there is a -R. */
bool event_writes_trigger(const struct invocation *inv);
/* All of them: filters and triggers, then what is enabled. 0, or -errno and *err (-EINVAL: no event has the name). */
int event_writes(const struct invocation *inv, const struct event_files *f, struct err *err);
