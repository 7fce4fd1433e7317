/* SPDX-License-Identifier: MIT */
/* The content of an event's `trigger` file: actions that follow the event. The list is text in,
 * text out; the thread that runs a trigger asks trigger_due() and does it. */
#pragma once
#include <stdio.h>

#include "event/filter_compile.h"

enum trigger_action {
	TRIGGER_TRACEON,
	TRIGGER_TRACEOFF,
	TRIGGER_SNAPSHOT,
	TRIGGER_STACKTRACE,
	TRIGGER_ENABLE,
	TRIGGER_DISABLE,
	TRIGGER_HIST,
	TRIGGER_ENABLE_HIST,
	TRIGGER_DISABLE_HIST,
	TRIGGER_NOTIFY,
	TRIGGER_EXEC,
	TRIGGER_ACTIONS_N,
};

/* Triggers of the same type exclude each other if their kind's same() says so. */
enum trigger_type {
	TRIGGER_TYPE_ONOFF,
	TRIGGER_TYPE_SNAPSHOT,
	TRIGGER_TYPE_STACKTRACE,
	TRIGGER_TYPE_ENABLE,
	TRIGGER_TYPE_ENABLE_HIST,
	TRIGGER_TYPE_HIST,
	TRIGGER_TYPE_NOTIFY,
	TRIGGER_TYPE_EXEC,
};

struct event_entry;
struct event_trigger;
struct trigger_context;
struct trigger_line;

/* Functions in which kinds of triggers differ. None may look at a trigger's users or count. */
struct trigger_ops {
	/* Reads what follows the kind's name into t, which is empty. Returns 0, or -errno and, if
	 * error_log is to have it, *fault. */
	int (*parse)(struct event_trigger *t, const struct trigger_line *line,
		     struct filter_fault *fault);
	/* Writes the trigger's line without the newline. */
	void (*show)(const struct event_trigger *t, FILE *to);
	/* Whether an event cannot have both. Their type is the same. */
	bool (*same)(const struct event_trigger *a, const struct event_trigger *b);
	/* Frees t->own. NULL: there is none. */
	void (*free)(void *own);
	/* t is parsed, and `same` is the trigger in the list that excludes it (NULL: none). Returns
	 * 0: t comes, in the place of `same`; or -errno and *fault. NULL: a trigger that excludes t
	 * is -EEXIST. */
	int (*meet)(struct event_trigger *t, const struct event_trigger *same,
		    const struct trigger_line *line, struct filter_fault *fault);
	/* Whether the trigger may not go, because others of the context's settings need it. NULL:
	 * it always may. */
	bool (*needed)(const struct event_trigger *t, const struct trigger_context *c);
	/* Calls use() with each event, by its index, that the trigger makes records of. NULL:
	 * none. */
	void (*makes)(const struct event_trigger *t, void (*use)(void *arg, uint32_t index),
		      void *arg);
};

/* The operations of kinds that have a count and no more: NAME[:SYSTEM:EVENT][:COUNT]. */
extern const struct trigger_ops trigger_counted;

/* A kind of trigger: a row of the table in trigger.c, or of struct trigger_kinds. */
struct trigger_kind {
	const char *name;
	enum trigger_action action;
	enum trigger_type type;
	const struct trigger_ops *ops;
	bool switches;  /* switches another event: NAME:SYSTEM:EVENT[:COUNT] */
	bool sets_state; /* brings about a state: if it is there already, nothing is counted */
	bool after;     /* done after the event's record has been written, not before */
	bool wiped;     /* `> trigger` removes it */
	bool last;      /* shown and run after all others, the oldest first */
	bool unlisted;  /* brace's own: not among the kernel's kinds in a file without triggers */
};

/* Kinds of the layers above, in the order in which they are shown. */
struct trigger_kinds { const struct trigger_kind *at; size_t n; };

/* One trigger, shared by all copies of the lists that it is in, so that each sees how often it was
 * done. */
struct event_trigger {
	const struct trigger_kind *kind;
	char *system, *event;           /* the event that it switches; or NULL */
	_Atomic unsigned long count;    /* how many times are left; TRIGGER_UNLIMITED */
	_Atomic unsigned users;         /* number of lists */
	char *filter;                   /* as it was written; or NULL */
	struct filter_program *program; /* on the event that triggers; NULL: no condition */
	bool needs_stack;               /* the program has to leave its stack with each record */
	bool takes_snapshots;
	void *own;                      /* the kind's; NULL: it needs no more than the above */
};

#define TRIGGER_UNLIMITED (~0ul)

struct trigger_list {
	VEC(struct event_trigger *) at; /* the newest last; shown and run from the newest on */
};

struct trigger_context {
	struct filter_context filter;
	/* Gets filter.arg. */
	bool (*event_exists)(void *arg, const char *system, const char *event);
	/* Finds a trigger, of any event of the same settings, for which fits() is true. NULL, or a
	 * NULL function: there is none. Gets filter.arg. */
	const struct event_trigger *(*find)(
		void *arg, bool (*fits)(const struct event_trigger *t, const void *what),
		const void *what);
	const struct trigger_kinds *kinds; /* beside those of trigger.c; NULL: none */
	/* Finds an event that can have triggers. NULL, or a NULL function: there is none. Gets
	 * filter.arg. */
	const struct event_entry *(*find_event)(void *arg, const char *system, const char *event);
};

/* A line that is written to the file, as a kind's parse() gets it. */
struct trigger_line {
	const struct event_format *event;
	const struct trigger_context *context;
	/* The text behind the name and one `:` or blank, without blanks at both ends; NULL:
	 * none. */
	const char *rest;
	size_t n;
	/* The line from the name on, without "!" and blanks at its end. */
	const char *whole;
	size_t whole_n;
	bool remove;                    /* "!": only what tells which trigger is meant matters */
};

/* For parse(): reads "if FILTER", n characters; at NULL: there is none. As parse() otherwise. */
int trigger_parse_filter(struct event_trigger *t, const struct trigger_line *line, const char *at,
			 size_t n, struct filter_fault *fault);

/* `echo line > trigger`: adds a trigger, or removes it with "!". Returns 0, or -errno (EEXIST: the
 * type is taken) and, if a filter was at fault, *fault, which points into line and goes to
 * error_log; else fault->code is 0. A failed write changes nothing; nor does a line of a page or
 * more, which is -EINVAL. */
int trigger_write(struct trigger_list *l, const struct event_format *e, const char *line,
		  const struct trigger_context *c, struct filter_fault *fault);
/* `cat trigger`; free() it. kinds: as in the context. */
char *trigger_read(const struct trigger_list *l, const struct trigger_kinds *kinds);
/* `> trigger`: removes triggers of kinds that are wiped; none if one of them is needed. */
void trigger_list_wipe(struct trigger_list *l, const struct trigger_context *c);
char *trigger_line(const struct event_trigger *t); /* its line there; free() it */
/* Makes `to` a list of the same triggers, whose counts both lists share; trigger_list_free() frees
 * it. */
void trigger_list_copy(struct trigger_list *to, const struct trigger_list *from);
void trigger_list_free(struct trigger_list *l);

/* Call when the event has happened and t's filter let it pass. Returns true if t is to be done, and
 * counts it. `already`: the state that it would bring about is there already. One thread runs the
 * triggers of an event. */
bool trigger_due(struct event_trigger *t, bool already);
