/* SPDX-License-Identifier: MIT */
/* The events a session knows: ftrace's own, and those that programs bring with them. It grows while they come, and
 * only grows: an event keeps its number and its place in memory to the end, because records in buffers and files
 * name it. All calls may come from any thread. */
#pragma once
#include "event/filter_compile.h"
#include "event/format.h"

/* Who writes an event's records. */
enum event_owner {
	EVENT_OWNER_FTRACE,   /* the tracers and markers: nothing to enable */
	EVENT_OWNER_STATIC,   /* include/brace/event.h in the program */
	EVENT_OWNER_MARKER,   /* USDT */
	EVENT_OWNER_PROBE,    /* at an instruction, by a command */
	EVENT_OWNER_TASK,     /* task: and signal: */
	EVENT_OWNER_SYSCALL,  /* raw_syscalls: and syscalls: */
	EVENT_OWNER_SCHED,    /* perf's context switches */
};

#define EVENT_ID_FIRST 512u  /* of the events that are not ftrace's own: EVENT_ID_FIRST + index */
#define EVENTS_MAX 65000u    /* an id has 16 bits */

struct event_entry {
	uint32_t index;                    /* its place in the catalogue: 0, 1, ... */
	enum event_owner owner;
	const struct event_format *format; /* system, name, id, fields */
	const char *text;                  /* of its `format` file, id included */
};

struct event_catalogue;

/* ftrace's own events are in it, as index 0 and so on. */
struct event_catalogue *events_new(void);
void events_free(struct event_catalogue *c);

/* An event from the text of a format file, in which the id does not matter: the next free one is given. The same
 * event again (of another process) is the one there is. 0 and *entry, which lives as long as the catalogue; or
 * -EEXIST: the system has another event of that name; -EINVAL: the text, or a name that is none for a directory; -ENOSPC. */
int events_add(struct event_catalogue *c, enum event_owner owner, const char *system, const char *text, size_t n,
	       const struct event_entry **entry, struct err *err);
/* The same, of a format that is not text yet; nothing of it is kept. */
int events_add_format(struct event_catalogue *c, enum event_owner owner, const struct event_format *format,
		      const struct event_entry **entry, struct err *err);

uint32_t events_n(struct event_catalogue *c);
const struct event_entry *events_at(struct event_catalogue *c, uint32_t index); /* NULL: there are not so many */
const struct event_entry *events_find(struct event_catalogue *c, const char *system, const char *name);
/* Whether it can be enabled, and has a filter. */
bool events_can_enable(const struct event_entry *e);

/* What filters may refer to; none at first. To be set before there are filters. */
void events_set_context(struct event_catalogue *c, const struct filter_context *context);
struct filter_context events_context(struct event_catalogue *c);

/* `grown` is called, unlocked, after an event was added; one at a time, NULL: none. */
void events_watch(struct event_catalogue *c, void (*grown)(void *arg, const struct event_entry *e), void *arg);
