/* SPDX-License-Identifier: MIT */
/* What stands in an event's `trigger` file: what shall happen when the event does. The list is text in, text out;
 * who runs a trigger asks trigger_due and does it. */
#pragma once
#include "event/filter_compile.h"

enum trigger_action {
	TRIGGER_TRACEON, TRIGGER_TRACEOFF, TRIGGER_SNAPSHOT, TRIGGER_STACKTRACE, TRIGGER_ENABLE, TRIGGER_DISABLE,
};

/* A kind of trigger: a row of the table in trigger.c. Histograms will be one with a `parse` of their own. */
struct trigger_kind {
	const char *name;
	enum trigger_action action;
	int slot;       /* an event has one trigger of each slot (for each event it switches) */
	bool switches;  /* another event's: NAME:SYSTEM:EVENT[:COUNT] */
	bool settles;   /* brings about a state: what is so already is not counted */
	bool after;     /* done when the event's record has been written, not before */
};

/* Shared by all copies of the lists it is in, so that what it did is seen in each. */
struct event_trigger {
	const struct trigger_kind *kind;
	char *system, *event;           /* of the event it switches; or NULL */
	_Atomic unsigned long count;    /* how often yet; TRIGGER_UNLIMITED */
	_Atomic unsigned users;         /* lists */
	char *filter;                   /* as it was written; or NULL */
	struct filter_program *program; /* on the event that triggers; NULL: always */
};

#define TRIGGER_UNLIMITED (~0ul)

struct trigger_list {
	VEC(struct event_trigger *) at; /* the newest last; shown and run from the newest on */
};

struct trigger_context {
	struct filter_context filter;
	bool (*event_exists)(void *arg, const char *system, const char *event); /* arg: filter.arg */
};

/* `echo line > trigger`: adds a trigger, or removes it with "!". 0, or -errno (EEXIST: the slot is taken) and, if a
 * filter was at fault, *fault, which points into line and goes to error_log; else fault->code is 0. A failed write
 * changes nothing; nor does a line of a page or more, which is -EINVAL. */
int trigger_write(struct trigger_list *l, const struct event_format *e, const char *line,
		  const struct trigger_context *c, struct filter_fault *fault);
/* `cat trigger`; free() it. */
char *trigger_read(const struct trigger_list *l);
void trigger_list_copy(struct trigger_list *to, const struct trigger_list *from);
void trigger_list_free(struct trigger_list *l);

/* The event has happened and t's filter lets it pass: whether t is to be done, which is counted. `so`: what it would
 * bring about is so already. One thread runs the triggers of an event. */
bool trigger_due(struct event_trigger *t, bool so);
