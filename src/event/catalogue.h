/* SPDX-License-Identifier: MIT */
/* The events a session knows: ftrace's own, those that programs bring with them, and those that
 * somebody defines and removes. The list only grows: an event keeps its number and its place in
 * memory to the end, because records in buffers and files refer to it; one that was removed is gone
 * for all who look for events. All calls may come from any thread. */
#pragma once
#include "event/eprobe.h"
#include "event/filter_compile.h"
#include "event/format.h"
#include "event/probe_command.h"
#include "event/provider.h"

struct trigger_kinds;

#define EVENT_ID_FIRST 512u  /* ids of events that are not ftrace's own: EVENT_ID_FIRST + index */
#define EVENTS_MAX 65000u    /* an id has 16 bits */

struct event_entry {
	uint32_t index;                    /* place in the catalogue: 0, 1, ... */
	const struct event_provider *provider;
	const struct event_format *format; /* system, name, id, fields */
	const char *text;                  /* text of its `format` file, id included */
	bool defined;                      /* somebody defined it, and may remove it */
	uint64_t order;                    /* of definition: probe_definition.order */
	/* of one that is a probe, its first place, which may be removed; else NULL */
	const struct probe_definition *probe;
	const struct eprobe *eprobe;       /* of one that is made of another; else NULL */
	_Atomic bool gone;                 /* removed: events_is_gone() */
	_Atomic uint32_t generation;       /* events_generation() */
};

struct event_catalogue;

/* Makes a catalogue with ftrace's own events, from index 0 on. */
struct event_catalogue *events_new(void);
void events_free(struct event_catalogue *c);

/* Adds an event from the text of a format file. Its id does not matter: the next free one is given.
 * An equal event (of another process) is entered once, and keeps its provider. An event whose
 * provider yields is removed for one of the same name. Returns 0 and
 * *entry, which lives as long as the catalogue; or -EEXIST: the system has another event of that
 * name; -EINVAL: the text, or a name that no directory can have; -ENOSPC. */
int events_add(struct event_catalogue *c, const struct event_provider *of, const char *system,
	       const char *text, size_t n, const struct event_entry **entry, struct err *err);
/* events_add() from a format that is not text yet; nothing of it is kept. */
int events_add_format(struct event_catalogue *c, const struct event_provider *of,
		      const struct event_format *format, const struct event_entry **entry,
		      struct err *err);

/* Adds n formats that are constants of brace: there is no fault in them that a user could mend. One
 * that is there already with other fields, or for which there is no room, is left out. */
void events_add_constants(struct event_catalogue *c, const struct event_provider *of,
			  const struct event_format *formats, size_t n);

/* Adds a defined event, and takes over its definition; also when it fails. -EEXIST: there is an
 * event of that name, equal or not. */
int events_add_probe(struct event_catalogue *c, const struct event_provider *of,
		     const char *system, const char *text, struct probe_definition *probe,
		     struct err *err);
/* Adds a place to an event that is a probe, and takes it over. Nobody may use the event. */
void events_add_place(struct event_catalogue *c, const struct event_entry *e,
		      struct probe_definition *place);
/* Removes a place of an event, which nobody may use; the caller removes an event that has none
 * left. */
void events_remove_place(struct event_catalogue *c, const struct event_entry *e,
			 const struct probe_definition *place);
/* events_add_probe() for an event on another event. */
int events_add_eprobe(struct event_catalogue *c, const char *system, const char *text,
		      struct eprobe *eprobe, struct err *err);
/* Whether an event that is not gone is made of this one. */
bool events_has_eprobes(struct event_catalogue *c, const struct event_entry *e);
/* Adds a defined event from its format, of which nothing is kept; as above, and *entry. */
int events_define(struct event_catalogue *c, const struct event_provider *of,
		  const struct event_format *format, const struct event_entry **entry,
		  struct err *err);
/* Removes an event: it is not found any more, cannot be enabled, and its name is free. Its entry
 * stays. */
void events_remove(struct event_catalogue *c, const struct event_entry *e);
/* Brings an event back that was removed, as it was: its index and id, and records that name them.
 * False: another event has its name by now. */
bool events_restore(struct event_catalogue *c, const struct event_entry *e);
/* Tells apart the times in which programs recorded the event: events_switched_off() ends one, when
 * none of them does any more. */
uint32_t events_generation(const struct event_entry *e);
void events_switched_off(struct event_catalogue *c, const struct event_entry *e);
/* Whether the event was removed. */
bool events_is_gone(const struct event_entry *e);

/* Returns the number of events, those that are gone among them. It only grows. */
uint32_t events_n(struct event_catalogue *c);
/* Returns the event at an index, which lives as long as the catalogue; NULL: there are not so
 * many. */
const struct event_entry *events_at(struct event_catalogue *c, uint32_t index);
/* Returns the event with that name that is not gone; NULL: none. */
const struct event_entry *events_find(struct event_catalogue *c, const char *system,
				      const char *name);
/* True if the event can be enabled, and has a filter. */
bool events_can_enable(const struct event_entry *e);
/* Whether the entry is ftrace:print, of trace_marker: always recorded, never enabled. */
bool events_is_marker(const struct event_entry *e);
/* Whether brace itself makes the records, of ftrace's markers and of tracers that measure: they are
 * always recorded, never enabled. */
bool events_is_own(const struct event_entry *e);
/* Whether the event can have triggers. */
bool events_can_trigger(const struct event_entry *e);

/* Sets what filters may refer to; nothing at first. Call before there are filters. */
void events_set_context(struct event_catalogue *c, const struct filter_context *context);
/* Returns a copy of the context. */
struct filter_context events_context(struct event_catalogue *c);

/* Sets the kinds of triggers beside those of trigger.c; none at first. *k has to live as long as
 * the catalogue. events_kinds() returns them; NULL: none. */
void events_set_kinds(struct event_catalogue *c, const struct trigger_kinds *k);
const struct trigger_kinds *events_kinds(struct event_catalogue *c);

/* Sets the function that is called, without the lock, after an event was added; one at a time,
 * NULL: none. */
void events_watch(struct event_catalogue *c, void (*grown)(void *arg, const struct event_entry *e),
		  void *arg);
