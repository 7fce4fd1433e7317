/* SPDX-License-Identifier: MIT */
/* The struct instance, for files of src/tree only. */
#pragma once
#include <stdatomic.h>

#include "model/settings.h"
#include "tree/error_log.h"
#include "tree/instance.h"

struct instance {
	struct tree_owner owner;       /* must be first: nodes lead to it */
	struct tree *tree;
	struct tree_node *pipe;        /* trace_pipe */
	/* trace_pipe is open. Relaxed everywhere: it stands alone, and a late look at it costs the
	 * pump one pass. */
	atomic_bool piped;
	pthread_mutex_t lock;          /* protects the settings and serializes their changes */
	struct settings settings;
	pthread_rwlock_t target_lock;  /* taken after lock; read-held around calls of the target */
	struct tree_target target;
	struct error_log errors;
	/* lists of functions that were opened with `>` and not closed yet */
	unsigned clearing;
	pthread_cond_t cleared;
	struct event_catalogue *events; /* one for the whole tree */
	struct tree_node *per_cpu;
	/* In the top: the instance that has trace_printk_dest. Relaxed everywhere: it is compared
	 * alone, never followed. */
	_Atomic(struct instance *) printk;
	bool snapshot;                  /* the second buffer exists; protected by lock */
	struct tree_node *events_dir;
	/* number of the catalogue's events that have directories; protected by events_lock */
	uint32_t events_shown;
	/* defined events that the settings have armed, by index; protected by the top's
	 * events_lock */
	VEC(uint32_t) claimed;
	/* the top's: events that programs have registered; protected by events_lock */
	VEC(uint32_t) held;
	struct user_events *user_events; /* the top's */
	char *last_boot;                /* the top's, from before it is served; NULL: nothing */
	/* list of all instances, the top first; protected by the top's events_lock */
	struct instance *next;
	/* the top's: protects the list of instances and directories of events; taken after `lock`,
	 * before the tree's lock */
	pthread_mutex_t events_lock;
};

extern const struct tree_dir_ops instances_ops;
/* function_files.c */
extern const struct tree_file_ops function_list_file, all_functions_file, all_addresses_file;
extern const struct tree_file_ops set_event_file, available_events_file, all_filters_file,
	all_triggers_file, pid_list_file; /* event_files.c */
/* dynamic_files.c, dynamic_list.c */
extern const struct tree_file_ops dynamic_events_file, kprobe_events_file, kprobe_profile_file,
	uprobe_events_file, uprobe_profile_file, synthetic_events_file;

/* buffer_files.c */
extern const struct tree_file_ops buffer_total_file, free_buffer_file, dump_file, snapshot_file,
	saved_cmdlines_file, saved_tgids_file, hooked_functions_file, total_functions_file,
	timestamp_mode_file, printk_formats_file, last_boot_file;
/* Makes per_cpu/ below dir. */
void buffer_files_fill(struct instance *in, struct tree_node *dir);
/* Prints what `cat trace` shows while nothing is recorded. */
void files_show_empty_trace(const struct settings *s, struct out *text);

/* user_events.c */
extern const struct tree_file_ops user_events_data_file, user_events_status_file;

/* profile_files.c */
extern const struct tree_file_ops function_profile_file, stack_enabled_file, stack_max_file,
	stack_trace_file;
/* Makes trace_stat/ below dir. */
void profile_files_fill(struct tree_node *dir);

/* Brings the settings and counts up to date with what triggers did. Takes in->lock and waits for
 * the target. */
void instance_catch_up(struct instance *in);
/* Waits up to 200 ms while a list of functions is open that `>` has cleared and that has no words
 * yet; if such a list was closed, until that has had its effect (tree_await_closings). */
void instance_await_cleared(struct instance *in);

/* Does `echo text > file` of a setting, as one change: checked, applied by the target, or nothing
 * is changed. 0, or -errno and *err. */
int instance_write(struct instance *in, const char *file, const char *text, bool append,
		   struct err *err);

/* instance_write for any change of the settings, which the target sees as a write to `file`.
 * `change` edits the copy, or refuses with -errno. */
int instance_change(struct instance *in, const char *file,
		    int (*change)(struct settings *next, void *arg, struct err *err), void *arg,
		    struct err *err);

/* Adds an entry to the error_log: n bytes of text, and the caret's column in it. */
void instance_log(struct instance *in, const char *location, const char *sentence, const char *text,
		  size_t n, size_t column);

/* Makes events/ below dir, with its files for all events. */
void event_files_fill(struct instance *in, struct tree_node *dir);
/* Makes directories for events that were added. The top's events_lock is held. */
void event_files_grow(struct instance *in);

/* Makes those of an event that is back (events_restore()). The top's events_lock is held. */
void event_files_restore(struct instance *in, const struct event_entry *e);

/* Whether a directory of the system, or of the event in it, would have the name of a file that is
 * beside it. */
bool event_files_have(const char *system, const char *event);

/* Removes the directories of an event that is gone. The top's events_lock is held. */
void event_files_remove(struct instance *in, const struct event_entry *e);

/* Notes the defined events that the set has armed: they cannot be removed meanwhile. in->lock is
 * held. 0, or -ENODEV and *err: one was removed. */
int dynamic_events_claim(struct instance *in, const struct event_set *set, struct err *err);

/* Updates trace_printk_dest in the instance's settings, which are locked. */
void instance_show_printk(struct instance *in);

/* Whether the option is set. Takes in->lock. */
bool instance_option(struct instance *in, enum trace_option o);

/* Begin and end a pause (pause-on-trace) while a file that shows the trace is open; f->state
 * remembers it. The open never fails: 0. */
int files_trace_open(struct tree_file *f, struct err *err);
void files_trace_release(struct tree_file *f);

/* Returns the bytes that a read of trace_pipe gives, of a CPU or all (UINT_MAX), after the target's
 * pipe gave `got`. Uses f->state. */
ssize_t instance_pipe_end(struct tree_file *f, struct tree_target t, unsigned cpu, ssize_t got,
			  char *buf, size_t n, struct err *err);

/* Returns the target (ops is never NULL), which stays until instance_unlock. */
struct tree_target instance_lock(struct instance *in);
void instance_unlock(struct instance *in);
