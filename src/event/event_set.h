/* SPDX-License-Identifier: MIT */
/* What is set of events: which are enabled, with which filters and triggers. A value, a member of the settings: it is
 * copied, the copy changed, and the session made so or not.
 *
 * Names are `set_event`'s: SYSTEM:EVENT, SYSTEM:*, *:EVENT (or `SYSTEM:`, `:EVENT`), NAME (of an event or of a system), each
 * with globs, which the kernel has not; `!` before it disables. What no event answers to is EINVAL, `:mod:` included, as
 * in the kernel.
 *
 * On the command line no event is known yet, and programs bring more at any time: a set that `waits` keeps the
 * names as wishes, in their order, and event_set_grow holds each event that has come against them: the last wish
 * that fits decides, and the filter and triggers that were added to it are the event's. */
#pragma once
#include "event/catalogue.h"
#include "event/filter.h"
#include "event/trigger.h"

struct event_setting {
	uint32_t index;               /* in the catalogue */
	bool enabled;
	uint32_t held;                /* by how many function commands that switch it */
	bool stacked;                 /* in what is asked of programs: who reads the records wants the stack at each */
	struct event_filter filter;
	struct trigger_list triggers; /* counts are shared by all copies: see trigger.h */
};

struct event_system_filter { char *system; struct event_filter filter; };

struct event_wish {
	char *pattern;                /* as written */
	char *filter;                 /* or NULL */
	VEC(char *) triggers;
};

struct event_set {
	struct event_catalogue *catalogue;  /* not the set's own; NULL: none yet, only wishes */
	bool waits;                         /* names are wishes */
	VEC(struct event_setting) at;       /* by index; what is not in it is as after boot */
	VEC(struct event_system_filter) systems;
	VEC(struct event_wish) wishes;
	uint32_t seen;                      /* so many events of the catalogue were held against the wishes */
};

void event_set_copy(struct event_set *to, const struct event_set *from);
void event_set_free(struct event_set *s);

/* --- what is to be done ------------------------------------------------------------- */

/* Of any event of the catalogue; valid until the set changes. */
const struct event_setting *event_set_get(const struct event_set *s, uint32_t index);
/* Whether triggers or function commands look at it or switch it: it is armed then, whatever `enabled` says. */
bool event_set_switched(const struct event_set *s, uint32_t index);
/* Whether its site must write records: it is enabled, or a trigger waits at it or may enable it. */
bool event_set_armed(const struct event_set *s, uint32_t index);
/* The filter that the traced program runs before it writes; NULL: everything is written. An event with triggers, and one
 * that can be switched by them, is written whole: whoever reads the records runs triggers, then the filter. A filter on
 * functions is run there, too: in each program they have another address. */
const struct filter_program *event_set_program(const struct event_set *s, uint32_t index);
/* Whether the traced program is to leave its stack with each record: a trigger is to show it. */
bool event_set_stacked(const struct event_set *s, uint32_t index);
void event_set_stack(struct event_set *s, uint32_t index);
/* Whether the traced program has something else to do for it under a than under b. */
bool event_set_differ(const struct event_set *a, const struct event_set *b, uint32_t index);
/* The wishes held against the events that came since. 0, or the first that failed: -errno and *err. */
int event_set_grow(struct event_set *s, struct err *err);
/* Whether an event of the catalogue answers to wish number i. */
bool event_set_wish_met(const struct event_set *s, size_t i);

/* --- the files ---------------------------------------------------------------------- */

/* set_event, one name. 0, or -EINVAL and *err; then nothing has changed. */
int event_set_write(struct event_set *s, const char *name, struct err *err);
void event_set_clear(struct event_set *s); /* `> set_event` */
char *event_set_read(const struct event_set *s); /* free() it */
/* With `-f` and `-R`: to the event that was named last. -EINVAL and *err if none was. What is wrong with it comes out
 * when there is an event. */
int event_set_wish_filter(struct event_set *s, const char *text, struct err *err);
int event_set_wish_trigger(struct event_set *s, const char *text, struct err *err);

/* events/[SYSTEM/]enable; system NULL: all. */
void event_set_enable_system(struct event_set *s, const char *system, bool on);
void event_set_enable(struct event_set *s, uint32_t index, bool on);
/* "?", "0", "1", "X"; */
const char *event_set_read_system(const struct event_set *s, const char *system);
/* "0", "1", "0*", "1*" */
const char *event_set_read_enable(const struct event_set *s, uint32_t index);

/* As event_filter_write, event_filter_write_system, trigger_write. A filter that is refused stands in the file with
 * its error: the set has changed. */
int event_set_filter(struct event_set *s, uint32_t index, const char *text, struct filter_fault *fault);
int event_set_filter_system(struct event_set *s, const char *system, const char *text, struct filter_fault *fault,
			    unsigned *faults);
char *event_set_read_filter_system(const struct event_set *s, const char *system);
int event_set_trigger(struct event_set *s, uint32_t index, const char *line, struct filter_fault *fault);

/* A function command that switches the event has come (by = 1) or gone (-1). */
void event_set_hold(struct event_set *s, uint32_t index, int by);
