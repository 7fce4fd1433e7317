/* SPDX-License-Identifier: MIT */
/* An instance, for the files that are made of it. */
#pragma once
#include <stdatomic.h>

#include "model/settings.h"
#include "tree/error_log.h"
#include "tree/instance.h"

struct instance {
	struct tree_owner owner;       /* first: nodes lead to it */
	struct tree *tree;
	struct tree_node *pipe;        /* trace_pipe */
	pthread_mutex_t lock;          /* settings, and what changes them */
	struct settings settings;
	pthread_rwlock_t target_lock;  /* after lock; read-held around calls of the target */
	struct tree_target target;
	struct error_log errors;
	unsigned clearing;             /* lists that were opened with `>` and are not closed yet */
	pthread_cond_t cleared;
	struct event_catalogue *events; /* one for the tree */
	struct tree_node *per_cpu;
	_Atomic(struct instance *) printk; /* the top's: who has the option trace_printk_dest */
	bool snapshot;                  /* there is a second buffer; locked */
	struct tree_node *events_dir;
	uint32_t events_shown;          /* so many of the catalogue's have their directories */
	struct instance *next;          /* of the tree; the top first, under its lock below */
	pthread_mutex_t events_lock;    /* the top's: instances, and directories of events; between `lock` and the tree's lock */
};

extern const struct tree_dir_ops instances_ops;
extern const struct tree_file_ops function_list_file, all_functions_file, all_addresses_file; /* function_files.c */
extern const struct tree_file_ops set_event_file, available_events_file, pid_list_file; /* event_files.c */

/* buffer_files.c */
extern const struct tree_file_ops buffer_total_file, free_buffer_file, dump_file, snapshot_file, saved_cmdlines_file, saved_tgids_file,
	hooked_functions_file, total_functions_file, timestamp_mode_file, printk_formats_file;
void per_cpu_fill(struct instance *in, struct tree_node *dir);
/* What `cat trace` gives while nothing is recorded. */
void show_empty_trace(const struct settings *s, struct out *text);

/* profile_files.c */
extern const struct tree_file_ops function_profile_file, stack_enabled_file, stack_max_file, stack_trace_file;
void trace_stat_fill(struct tree_node *dir);

/* The settings are what triggers have made of them by now, and counts are up to date. */
void instance_catch_up(struct instance *in);
/* Waits a moment if a list of functions is open that `>` has cleared and that has no words yet. */
void instance_await_cleared(struct instance *in);

/* `echo text > file` of a setting, as one change: checked, made so by the target, or nothing is changed. */
int instance_write(struct instance *in, const char *file, const char *text, bool append, struct err *err);

/* The same of any change of the settings, told to the target as a write to `file`. `change` says no with -errno. */
int instance_change(struct instance *in, const char *file,
		    int (*change)(struct settings *next, void *arg, struct err *err), void *arg, struct err *err);

/* An entry of the error_log: n bytes of text, and where in it the caret goes. */
void instance_log(struct instance *in, const char *location, const char *sentence, const char *text, size_t n,
		  size_t column);

/* events/ below dir, with what stands in it for all events. */
void event_files_fill(struct instance *in, struct tree_node *dir);
/* Directories for the events that came since. The top's events_lock is held. */
void event_files_grow(struct instance *in);

/* Whether it has trace_printk_dest becomes part of its settings, which are locked. */
void instance_show_printk(struct instance *in);

bool instance_option(struct instance *in, enum trace_option o);

/* pause-on-trace: what f->state holds from open to release of a file that shows the trace. */
int trace_open(struct tree_file *f, struct err *err);
void trace_release(struct tree_file *f);

/* The bytes that a read of trace_pipe gives, of a CPU or all (UINT_MAX), of which the target's pipe gave `got`. Keeps f->state. */
ssize_t instance_pipe_end(struct tree_file *f, struct tree_target t, unsigned cpu, ssize_t got, char *buf, size_t n,
			  struct err *err);

/* The target (ops are never NULL), which stays until instance_release. */
struct tree_target instance_hold(struct instance *in);
void instance_release(struct instance *in);
