/* SPDX-License-Identifier: MIT */
/* The parsed command line, and the tables for parsing it. A command is a row in commands.c with a
 * list of option tables; --help, the parser and the completion's test all read the same rows. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "base/new_file.h"
#include "excerpt/spec.h"
#include "instance/slow.h"
#include "model/settings.h"

struct config_use;
struct config_write;
struct invocation;
struct option;

typedef int option_setter(struct invocation *inv, const struct option *o, const char *value,
			  struct err *err);

struct option {
	char letter;          /* 0: none */
	const char *name;     /* long name; NULL: none */
	const char *argument; /* its argument, as --help names it; NULL: none */
	const char *help;
	option_setter *set;
	size_t offset;        /* where set_flag, set_text and their kin put the value */
	const char *file;     /* set_setting: the file it writes */
	bool append;          /* set_setting: each use adds to the list */
	bool optional;        /* its argument; with one, it stands behind a `=` */
};

struct command {
	const char *name;
	const char *operands; /* as the synopsis shows them */
	const char *summary;
	const struct option *const *tables; /* NULL-terminated; each ends with a row without set */
	bool stops;           /* the first operand ends the options: the rest is a program's */
	int min_operands, max_operands; /* max -1: any number */
	int (*run)(struct invocation *inv); /* returns the exit status */
	bool attaches;        /* -p may stand in for the operands */
	/* the operands before `--` are questions, of which the two numbers speak; a program to run
	 * stands behind it */
	bool asks;
	const char *stops_at; /* NULL, or this operand ends the options as well */
};

enum colour_choice { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER, COLOUR_CHOICES_N };

/* One write to a settings file that an option stands for. */
struct setting_write {
	const struct option *option;
	const char *file, *text; /* file NULL: option->file of the events named before it */
	bool append;
	const struct config_write *config; /* the line of --config's file that made it, or NULL */
};

typedef VEC(struct setting_write) setting_writes;

/* An event that -e defines: a line of uprobe_events, and "GROUP:EVENT". in_tree: a line of
 * dynamic_events, whose records only a tree makes. */
struct probe_definition_line {
	char *line, *name;
	char *parameters; /* "a, b" of the function, which a text may name; NULL: not known */
	bool in_tree;
};

/* One more `echo TEXT >> FILE` in the tree, when the events are known (event_writes.h). */
struct tree_line { char *file, *text; };

/* A probe that brace probe is asked for: as perf probe takes it, and a filter, or NULL. */
struct probe_spec { const char *text, *filter; };

/* The options that one command has alone; those that several have are members of struct
 * invocation itself. */
struct config_options {
	const char *attach;
	bool apply, detach, list, profiles, save;
};

struct diff_options {
	const char *flamegraph;
	uint64_t fail_over;   /* hundredths of a percent */
	bool fails_over;
};

struct export_options {
	const char *format, *weight;
	bool formats;         /* list them */
};

struct follow_options {
	const char *show, *attach, *into;
	VEC(const char *) ends;
};

/* Options that push shares with fleet, which asks what push sent. */
struct push_options {
	const char *to, *auth, *ca, *host, *then;
	VEC(const char *) labels;
	uint64_t retry_ns, since_ns, older_ns;
	bool retries;         /* retry_ns was given */
	bool calls, create, dry_run, insecure, no_command, trace, verify;
	/* Options of record --push and of push --spooled. */
	const char *spool;
	uint64_t spool_most;  /* bytes; 0: not given */
	bool spooled;
	void (*ended)(void *arg, const char *file); /* set by record: of struct session_rotation */
	void *ended_arg;
};

/* Options of fleet record. */
struct hosts_options {
	const char *hosts, *ssh;
	uint64_t silence_ns;
	uint64_t trace_most;  /* bytes; 0: not given */
};

struct list_options {
	bool buffers, clocks, filters, format, full, options, systems, tracers, triggers;
	bool signatures, why;
};

struct probe_options {
	VEC(struct probe_spec) probes;
	const char *variables, *lines; /* the places whose variables or lines are listed */
	const char *source;
	bool dry_run;
};

struct snapshot_options { bool take, clear, free; };

/* Options of sql, and of latency, which is sql in other words. */
struct sqlhist_options {
	const char *name, *tree, *max, *change, *save, *instance, *file, *within;
	bool execute, trace, snapshot;
};

struct top_options {
	uint64_t delay_ns, count; /* length and number of turns; 0: not given */
	bool batch, since_start;
};

struct invocation {
	const struct command *command;
	char **operands; /* NULL-terminated, as in argv */
	int n_operands;
	setting_writes writes; /* in order; invocation_settings carries them out */
	setting_writes kernel_writes; /* with -k: those with `k:`, without it */
	VEC(struct probe_definition_line) definitions; /* probe_option.h */
	VEC(struct tree_line) lines; /* in order; invocation_free() frees the texts */
	char **questions;     /* of a command that asks: what stands before the program */
	int n_questions;
	VEC(char *) made_texts;   /* made of arguments; `writes` and others point to them */
	struct settings settings;
	struct excerpt_spec excerpt; /* of commands that read a trace */
	struct event_catalogue *events; /* the settings' catalogue; NULL until an event is named */
	struct whole_file file; /* of -o, from screen_file_begin() on; path NULL: none */
	const char *output, *binary, *sort, *by, *run, *durations, *callers, *callees, *histogram;
	const char *session;  /* name of the session in the background */
	bool session_named;   /* named by the user */
	bool is_program;      /* `--` stands before the operands */
	uint64_t limit;
	VEC(pid_t) pids;      /* to attach to */
	uint64_t duration_ns; /* 0: to the end */
	unsigned compress;    /* --compress: of the trace file; 0: not given */
	uint64_t max_bytes;   /* of the trace file; 0: no limit */
	slow_limits slow;     /* --snapshot-on FUNCTION > TIME */
	unsigned snapshot_signals; /* --snapshot-on SIGNAL: a bit each of 1 << signal */
	const char *ring;     /* --ring */
	char *last_boot;      /* of brace start: last_boot_info; NULL: nothing was left */
	uint64_t ring_kb;     /* --ring-size; 0: not given */
	uint64_t rotate_bytes, rotate_ns, keep_files; /* --rotate, --keep; 0: not given */
	uint64_t pid;    /* 0: none */
	/* 1 + calls of each thread to print when a signal ends the program; 0: not given */
	uint64_t last;
	enum colour_choice colour;
	bool call_tree, csv, explain, foreground, help, json, lazy, list_events, no_pager;
	bool charge_handlers, quiet, reverse, call_lines, source_lines, verbose, top;
	bool kernel, kernel_alone; /* -k, -K */
	bool elsewhere;
	bool kernel_only, user_only;
	bool open; /* of html */
	bool html; /* of fleet: a page */
	bool search; /* of help */
	bool counters; /* --counters */
	bool net; /* --net */
	bool now; /* of locks */
	bool long_rows; /* of sessions */
	const char *model;    /* of rv */
	const char *config;   /* --config */
	bool strict;
	struct config_use *config_use; /* its contents, or NULL (config_option.h) */
	struct config_options of_config;
	struct diff_options of_diff;
	struct export_options of_export;
	struct push_options of_push;
	struct hosts_options of_hosts;
	struct follow_options of_follow;
	struct list_options of_list;
	struct probe_options of_probe;
	struct snapshot_options of_snapshot;
	struct sqlhist_options of_sql;
	struct top_options of_top;
};

/* Setters for option tables. */
option_setter set_flag, set_text, set_scope, set_limit, set_pid, set_last, set_setting, set_mode,
	set_causal_order, set_args, set_retval, set_colour, set_names, set_pids, set_of_event,
	set_duration, set_session, set_probe, set_probe_filter, set_excerpt, set_fail_over,
	set_export_to, set_delay, set_count, set_logger, set_max_size, set_counters, set_rotate,
	set_ring_size,
	set_compress, set_keep, set_snapshot_on, set_follow_end, set_allow_exec, set_allow_fd,
	set_model, set_silence, set_trace_max, set_push_to, set_spool_max, set_label, set_retry,
	set_since, set_older;

/* Parses argv (after the subcommand's name) by inv->command's tables. Moves operands to argv's
 * front. 0, or -EINVAL and *err. */
int invocation_parse(struct invocation *inv, char **argv, struct err *err);
/* The first of these options' names (NULL-terminated) that stands among a command's words, which
 * end before its program; NULL: none does. Values are not looked at, nor whether all words are
 * options. */
const char *invocation_option_of(const struct command *c, char *const *words,
				 const char *const *names);
/* Says "brace: echo TEXT > FILE", for -v. */
void invocation_show_write(const struct setting_write *w);
/* The tracer if no option names one: function_graph; for events alone, nop. */
const char *invocation_usual_tracer(const struct invocation *inv);
/* Carries out the writes into inv->settings, saying each if -v was given. 0, or -errno and *err. */
int invocation_settings(struct invocation *inv, struct err *err);
/* Adds to inv->lines; takes the texts over. */
void invocation_add_line(struct invocation *inv, char *file, char *text);
void invocation_free(struct invocation *inv);

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name); /* NULL: none */
/* The nearest command, or NULL if none is near. */
const char *command_nearest(const char *name);
