/* SPDX-License-Identifier: MIT */
/* The settings of events: enabled or not, filter and triggers of each. A value, a member of the
 * settings: it is copied, the copy changed, and the session made so or not.
 *
 * Names are those of `set_event`: SYSTEM:EVENT, SYSTEM:*, *:EVENT (or `SYSTEM:`, `:EVENT`), NAME
 * (of an event or of a system), each with globs, which the kernel does not have; `!` before it
 * disables. A name without an event is EINVAL, `:mod:` included, as in the kernel.
 *
 * On the command line no event is known yet, and programs bring more at any time: a set that
 * `waits` keeps the names as pending, in their order, and event_set_grow() compares each new event
 * with them. The last name that fits decides, and its filter and triggers become the event's. */
#pragma once
#include "event/catalogue.h"
#include "event/filter.h"
#include "event/trigger.h"

/* The kernel's values of syscall_user_buf_size: after boot, and the maximum. */
#define SYSCALL_BYTES 63u
#define SYSCALL_BYTES_MAX 165u

struct event_setting {
	uint32_t index;               /* in the catalogue */
	uint32_t made_of;             /* 1 + index of the event that it is made of; 0: none */
	bool enabled;
	uint32_t held;                /* number of function commands that switch it */
	/* In a set that is given to programs: readers want the stack at each record. */
	bool stacked;
	/* In such a set: its scopes, in place of the set's. */
	bool scoped;
	uint8_t scopes;
	struct event_filter filter;
	struct trigger_list triggers; /* counts are shared by all copies: see trigger.h */
};

struct event_system_filter { char *system; struct event_filter filter; };

struct event_pending {
	char *pattern;                /* as written */
	char *filter;                 /* or NULL */
	VEC(char *) triggers;
};

struct event_set {
	/* not the set's own; NULL: none yet, only pending names */
	struct event_catalogue *catalogue;
	bool waits;                         /* names stay pending */
	/* At most so many bytes of each string and buffer that an argument of a system call leads
	 * to are copied: SYSCALL_BYTES_MAX at most, 0 = none. */
	uint32_t syscall_bytes;
	/* Events are recorded in these scopes alone (set_event_scope), bits; 0: everywhere. */
	uint8_t scopes;
	VEC(struct event_setting) at; /* by index; events that are not in it are as after boot */
	VEC(struct event_system_filter) systems;
	VEC(struct event_pending) pending;
	/* number of the catalogue's events that were compared with the pending names */
	uint32_t seen;
};

/* Makes `to` a copy that shares nothing but the triggers and the catalogue; event_set_free() frees
 * what is in a set. */
void event_set_copy(struct event_set *to, const struct event_set *from);
void event_set_free(struct event_set *s);

/* --- what the settings ask for --- */

/* Returns the setting of any event of the catalogue; valid until the set changes. */
const struct event_setting *event_set_get(const struct event_set *s, uint32_t index);
/* True if triggers or function commands look at the event or switch it, or events are made of it:
 * it is armed then, whatever `enabled` says. */
bool event_set_switched(const struct event_set *s, uint32_t index);
/* True if the event's site must write records: it is enabled, or a trigger waits at it or may
 * enable it. */
bool event_set_armed(const struct event_set *s, uint32_t index);
/* Returns the filter that the traced program runs before it writes; NULL: everything is written. An
 * event with triggers, and one that triggers can switch, is written whole: the reader runs
 * triggers, then the filter. The reader also runs a filter on functions, which have another address
 * in each program. */
const struct filter_program *event_set_program(const struct event_set *s, uint32_t index);
/* True if the traced program has to leave its stack with each record, because a trigger shows
 * it. */
bool event_set_stacked(const struct event_set *s, uint32_t index);
/* Asks for that, whatever the triggers; for options that show stacks of all events. */
void event_set_stack(struct event_set *s, uint32_t index);
/* The scopes in which the traced program records the event, bits; 0: everywhere. */
uint8_t event_set_scopes(const struct event_set *s, uint32_t index);
void event_set_scope(struct event_set *s, uint32_t index, uint8_t scopes);
/* 0, or -EINVAL and *err: an event of which the kernel tells is armed, and there are scopes. */
int event_set_check_scopes(const struct event_set *s, struct err *err);
/* True if the event asks the traced program for something else under a than under b. */
bool event_set_differ(const struct event_set *a, const struct event_set *b, uint32_t index);
/* Applies the pending names to the events that came since. Returns 0, or the first failure:
 * -errno and *err. */
int event_set_grow(struct event_set *s, struct err *err);
/* True if an event of the catalogue fits pending name number i. */
bool event_set_pending_met(const struct event_set *s, size_t i);

/* --- the files ---------------------------------------------------------------------- */

/* Writes one name to set_event. Returns 0, or -EINVAL and *err; then nothing has changed. */
int event_set_write(struct event_set *s, const char *name, struct err *err);
void event_set_clear(struct event_set *s); /* `> set_event` */
/* Returns the lines of set_event: the armed events, or, without a catalogue, the pending names. */
char *event_set_read(const struct event_set *s); /* free() it */
/* Add a filter (`-f`) or trigger (`-R`) to the last pending name. -EINVAL and *err if there is
 * none. Their own faults come out when there is an event. */
int event_set_pending_filter(struct event_set *s, const char *text, struct err *err);
int event_set_pending_trigger(struct event_set *s, const char *text, struct err *err);

/* Writes events/[SYSTEM/]enable; system NULL: all. Events that cannot be enabled stay off. */
void event_set_enable_system(struct event_set *s, const char *system, bool on);
/* Writes events/SYSTEM/EVENT/enable. */
void event_set_enable(struct event_set *s, uint32_t index, bool on);
/* Returns the text of a system's `enable`: "?", "0", "1", "X". */
const char *event_set_read_system(const struct event_set *s, const char *system);
/* Returns the text of an event's `enable`: "0", "1", "0*", "1*". */
const char *event_set_read_enable(const struct event_set *s, uint32_t index);

/* event_filter_write(), event_filter_write_system() and trigger_write() for events of the set. A
 * refused filter stands in the file with its error: the set has changed. */
int event_set_filter(struct event_set *s, uint32_t index, const char *text,
		     struct filter_fault *fault);
int event_set_filter_system(struct event_set *s, const char *system, const char *text,
			    struct filter_fault *fault, unsigned *faults);
/* Returns the text of events/SYSTEM/filter, with the error of the last write; free() it. */
char *event_set_read_filter_system(const struct event_set *s, const char *system);
int event_set_trigger(struct event_set *s, uint32_t index, const char *line,
		      struct filter_fault *fault);

/* `> trigger` of an event (trigger_list_wipe). */
void event_set_wipe_triggers(struct event_set *s, uint32_t index);
/* `cat trigger`; free() it. */
char *event_set_read_triggers(const struct event_set *s, uint32_t index);

/* Counts a function command that switches the event: by = 1 when it comes, -1 when it goes. */
void event_set_hold(struct event_set *s, uint32_t index, int by);
