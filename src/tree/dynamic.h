/* SPDX-License-Identifier: MIT */
/* Events that somebody defined in the tree: probes, events on events, synthetic ones. Four files
 * share it: dynamic_list.c shows them, dynamic_remove.c removes them, dynamic_define.c and
 * dynamic_fprobe.c define them; dynamic_files.c has the files. Definitions are common to all
 * instances: `top` is the top one. */
#pragma once
#include "event/probe_command.h"
#include "tree/instance_internal.h"

/* The kernel's name for the parser of f:, in the error_log. */
#define FPROBE_LOCATION "trace_fprobe"

/* The kernel's sentence of a name that an event of another letter has. */
#define OTHER_TYPE "Probe type is different from existing probe"

/* The events that a file is about. */
enum defined_kind {
	DEFINED_PROBES = 1, DEFINED_SYNTHETIC = 2, DEFINED_FUNCTIONS = 4, DEFINED_EPROBES = 8,
	DEFINED_FPROBES = 16, DEFINED_USER = 32, DEFINED_ALL = 63
};

/* A definition: an event, or of a probe one of its places. */
struct defined { const struct event_entry *event; const struct probe_definition *place; };
typedef VEC(struct defined) defined_list;

/* The top instance, which has the definitions of all, and their lock. */
struct instance *dynamic_top(const struct instance *in);
/* Whether somebody defined the event, it is still there, and of the kind. */
bool dynamic_is_defined(const struct event_entry *e, enum defined_kind kind);
/* Adds the event's definitions. */
void dynamic_add_definitions(defined_list *l, const struct event_entry *e);
/* Returns the place and the arguments, " PATH:OFFSET ARGUMENT..." or " SYMBOL ARGUMENT...", as the
 * kernel writes them; the caller frees them. */
char *dynamic_probe_text(const struct probe_definition *d);
/* Returns what stands behind the event's name, as the kernel writes it, to be freed; NULL: a
 * synthetic event's text is of another form. */
char *dynamic_listing(const struct defined *d);
/* Lists what is defined, in the order in which it was; a line can be written back. Returns 0. */
int dynamic_show(struct tree_file *f, enum defined_kind kind, struct out *text);
/* The number of the event's records since it was asked first. Takes the top's lock. */
uint64_t dynamic_hits(struct instance *top, uint32_t index);

/* Whether some instance records the event, or may, or an event is made of it that does not go with
 * it. With events_lock. */
bool dynamic_is_used(const struct instance *top, const struct event_entry *e, bool with_made);

/* Says that programs have registered the event, or do not any more: it cannot be removed meanwhile.
 * Takes the top's events_lock, as the ones below. */
void dynamic_hold(struct instance *top, const struct event_entry *e, bool holds);
/* Whether an instance records the event, or may. */
bool dynamic_is_recorded(struct instance *top, const struct event_entry *e);
/* Removes an event that nobody uses. False: it is in use. */
bool dynamic_drop(struct instance *top, const struct event_entry *e);
/* Brings an event back that was dropped, with its index and no settings. False: its name is
 * another's, or an instance has settings of it. */
bool dynamic_restore(struct instance *top, const struct event_entry *e);

/* Events to be removed. group NULL: of any; event NULL: all of the group, but for synthetic ones,
 * which the kernel does not find so. */
struct dynamic_removal {
	enum defined_kind kind;
	const char *group, *event;
	const char *listed;     /* NULL: any; else only probes whose listing begins so, in words */
	bool all_or_none;       /* nothing goes if one is in use; else those before it are gone */
};

/* Removes what is named. Returns how many, or -EBUSY and *err. */
int dynamic_remove(struct instance *top, const struct dynamic_removal *what, struct err *err);
/* Removes what a line names: nothing to remove is a mistake of the line. 0, or -errno and *err. */
int dynamic_remove_of_line(struct instance *top, const struct dynamic_removal *what,
			   const char *line, struct err *err);

/* -EEXIST and *err: the event's directory would stand where the tree has a file of its own. */
int dynamic_check_name(const char *group, const char *event, const char *line, size_t column,
		       struct err *err);
/* Takes a line apart whose place is a function of the target's programs. 0, and *c to be freed by
 * probe_command_free(); or -errno and *err. */
int dynamic_parse_function(struct instance *top, const char *line, struct probe_command *c,
			   struct err *err);
/* Defines the probe; as one more place, if the event is there. 0, or -errno and *err. */
int dynamic_define_probe(struct instance *top, struct probe_command *c, const char *line,
			 struct err *err);
/* Runs a line of uprobe_events or kprobe_events: it defines a probe, removes one, or, empty, does
 * nothing. 0, or -errno and *err with the line's column. */
int dynamic_run_kernel_line(struct instance *top, const char *line, enum defined_kind kind,
			    struct err *err);
/* Works like dynamic_run_kernel_line() for a line that may have the source's words: it stands for
 * one line of the kernel's, or for several, of which all are defined or none. */
int dynamic_run_probe(struct instance *top, const char *line, enum defined_kind kind,
		      struct err *err);
/* Runs a line with f:. 0, or -errno and *err with the line's column. */
int dynamic_run_fprobe(struct instance *top, const char *line, struct err *err);
