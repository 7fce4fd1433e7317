/* SPDX-License-Identifier: MIT */
/* The target of an instance: what stands behind its files. At first there is none; the files keep
 * their values and the trace is empty. A session becomes the target by instance_attach.
 *
 * All slots may be called from any thread. `apply`, `clear`, `make` and `drop` of one instance come
 * one at a time; the others come at any time between instance_attach and the return of
 * instance_detach. A slot that is NULL is not supported. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "event/probe_command.h"
#include "model/settings.h"
#include "base/out.h"
#include "tree/tree.h"

struct instance;
struct hist_printer;

struct tree_target {
	const struct tree_target_ops *ops; /* NULL: there is none */
	void *arg;
};

/* The meanings of `echo 0`, `1` and `2` > snapshot. */
enum tree_snapshot { TREE_SNAPSHOT_FREE, TREE_SNAPSHOT_TAKE, TREE_SNAPSHOT_CLEAR };

/* The content of per_cpu/cpuN/stats. */
struct tree_cpu_stats {
	uint64_t entries, overrun, bytes, dropped, read;
	/* by the trace clock, in ns; a target that does not set `now` leaves CLOCK_MONOTONIC's */
	uint64_t oldest, now;
	bool numbers;              /* not ns, but numbers of another unit */
};

struct tree_target_ops {
	/* The target runs function commands (set_ftrace_filter's `f:traceoff`) and triggers. If
	 * false, writes of them are refused. */
	bool commands;
	/* Applies settings, because of a write to `file` ("options/overwrite"; "set_event" also for
	 * a file below events/; NULL: all are new, the target is being attached). 0: they hold.
	 * -errno and *err with the column in what was written: nothing has changed. */
	int (*apply)(void *arg, const struct settings *next, const char *file, struct err *err);
	/* Returns when triggers and function commands have been run over everything recorded before
	 * the call. NULL: there are none. */
	void (*catch_up)(void *arg);
	/* Writes into *s what triggers and commands have changed: tracing_on, enabled events.
	 * Called with the instance's settings locked. */
	void (*present)(void *arg, struct settings *s);
	/* Checks a word that was written to a list of functions ("set_ftrace_filter", without a
	 * `!`): 0, or -EINVAL and *err if it matches no function. */
	int (*check)(void *arg, const char *file, const char *word, struct err *err);
	/* The name of the function on this line (from 1) of available_filter_functions; free() it.
	 * NULL: there are not so many. */
	char *(*function_at)(void *arg, unsigned long line);
	/* Prints a line for each function in the list, "name" or "name [module]"; NULL: for each
	 * function. The order never changes. */
	void (*functions)(void *arg, const struct function_list *list, struct out *out);
	/* Prints kallsyms: a line "ADDRESS t NAME" for each function, in libraries "ADDRESS t
	 * NAME\t[MODULE]". The address has 16 hexadecimal digits and is the ip of raw records, by
	 * which trace-cmd finds names. NULL: none. */
	void (*symbols)(void *arg, struct out *out);
	/* Prints the lines of kallsyms for variables, whose letter is not `t`. NULL: none. */
	void (*variables)(void *arg, struct out *out);
	/* Prints `cat trace` with its header; nothing is consumed. */
	int (*trace)(void *arg, const struct settings *s, struct out *out, struct err *err);
	int (*clear)(void *arg, struct err *err); /* `> trace` */
	/* Begins or ends a pause: nothing is recorded until the last pause has ended. tracing_on
	 * does not change. */
	void (*pause)(void *arg, bool begins);
	/* trace_pipe: reads the next bytes of whole lines, which are consumed; -EAGAIN when there
	 * are none now, 0 at the end. One reader at a time. The target calls instance_wake when
	 * there are some. */
	ssize_t (*pipe)(void *arg, char *buf, size_t n, struct err *err);
	bool (*pipe_ready)(void *arg);
	/* Reads the rest of trace_pipe, of a CPU or all (UINT_MAX), while nothing is recorded: the
	 * next bytes, 0 when there are no more. -EAGAIN: tracing_on is 1. */
	ssize_t (*pipe_rest)(void *arg, unsigned cpu, char *buf, size_t n, struct err *err);
	/* Operations of one CPU's files, for records of one CPU. NULL: there are none. */
	int (*cpu_trace)(void *arg, unsigned cpu, const struct settings *s, struct out *out,
			 struct err *err);
	int (*cpu_clear)(void *arg, unsigned cpu, struct err *err);
	ssize_t (*cpu_pipe)(void *arg, unsigned cpu, char *buf, size_t n, struct err *err);
	bool (*cpu_pipe_ready)(void *arg, unsigned cpu);
	/* trace_pipe_raw: reads the next sub-buffer, as events/header_page describes it, which is
	 * consumed; unfinished: also one that still has room. TREE_PAGE bytes, or -EAGAIN.
	 * cpu_raw_ready: as much is there as buffer_percent asks for. */
	ssize_t (*cpu_raw)(void *arg, unsigned cpu, char *page, bool unfinished, struct err *err);
	bool (*cpu_raw_ready)(void *arg, unsigned cpu);
	void (*cpu_stats)(void *arg, unsigned cpu, struct tree_cpu_stats *out);
	/* The second buffer. snapshot_trace prints like `trace`, of one CPU or all (UINT_MAX), and
	 * sets *shown; if the snapshot is empty it does neither. */
	int (*snapshot)(void *arg, enum tree_snapshot what, struct err *err);
	void (*snapshot_clear)(void *arg, unsigned cpu); /* drops what it has of one CPU */
	int (*snapshot_trace)(void *arg, const struct settings *s, unsigned cpu, bool *shown,
			      struct out *out, struct err *err);
	/* snapshot_raw: reads the snapshot's next sub-buffer of a CPU, full or not, which is
	 * consumed. TREE_PAGE bytes, or -EAGAIN. The target calls instance_wake when there is a
	 * snapshot. */
	ssize_t (*snapshot_raw)(void *arg, unsigned cpu, char *page);
	bool (*snapshot_raw_ready)(void *arg, unsigned cpu);
	/* trace_stat/functionN: prints the rows, without the two header lines, that
	 * settings.function_profile has counted on a CPU. NULL: it cannot count, and
	 * function_profile_enabled is refused. */
	void (*profile)(void *arg, unsigned cpu, const struct settings *s, struct out *out);
	/* Prints an event's `hist` file, whose triggers are l, by the printer, which gets the names
	 * of functions (hist/hist.h). NULL: nothing is counted. */
	void (*hist)(void *arg, const struct trigger_list *l, const struct hist_printer *printer,
		     struct out *out);
	/* Find places for kprobe_events, as struct probe_symbols has them. NULL: there are no
	 * programs, and definitions by symbols are refused. */
	unsigned (*find_symbol)(void *arg, const char *module, const char *symbol, uint64_t more,
				struct symbol_match *out);
	bool (*find_object)(void *arg, const struct symbol_match *place, const char *name,
			    size_t n, uint64_t *vaddr);
	int (*find_argument)(void *arg, const struct symbol_match *place, const char *word,
			     char **out, struct err *err);
	char *(*find_parameters)(void *arg, const struct symbol_match *place, struct err *err);
	bool (*find_address)(void *arg, uint64_t address, struct symbol_match *out);
	/* The number of records of the event, by its index in the catalogue, since the first call
	 * for any event. NULL: nothing is recorded. */
	uint64_t (*hits)(void *arg, uint32_t event);
	/* The number of returns of the event that have no record, because what it wants of their
	 * calls had not been kept. NULL: nothing is recorded. */
	uint64_t (*missed)(void *arg, uint32_t event);
	/* Dump: what the commands dump and cpudump printed last. */
	void (*dumped)(void *arg, struct out *out);
	/* The stack tracer: prints stack_trace's text (false: there is none), gives stack_max_size,
	 * and takes what is written to it. NULL: not supported, and stack_tracer_enabled is
	 * refused. */
	bool (*stacks)(void *arg, struct out *out);
	uint64_t (*stack_max)(void *arg);
	void (*stack_reset)(void *arg, uint64_t bytes);
	void (*cmdlines)(void *arg, struct out *out);        /* saved_cmdlines: "TID NAME" lines */
	void (*tgids)(void *arg, struct out *out);           /* saved_tgids: "TID PID" lines */
	/* enabled_functions: prints "NAME (1)" lines of hooked functions; ever: touched_functions,
	 * those hooked at any time. */
	void (*hooked)(void *arg, bool ever, struct out *out);
	/* Records text that this thread wrote to trace_marker (raw: trace_marker_raw; the first 4
	 * bytes are the id). */
	int (*marker)(void *arg, pid_t thread, const char *text, size_t n, bool raw,
		      struct err *err);
	/* Records n bytes of a user event's fields (event/user_event.h), which this thread wrote,
	 * in the instances that want the event. 0, or -errno and *err. NULL: nothing records. */
	int (*user_event)(void *arg, pid_t thread, const struct event_entry *event,
			  const void *bytes, size_t n, struct err *err);
	/* Whether the thread is one of the programs that are traced here: nothing may wait for what
	 * it reads. NULL: none is. */
	bool (*traces)(void *arg, pid_t thread);
	/* mkdir instances/NAME and rmdir. make gives the new instance a target. NULL: it has none.
	 * `drop` gets the new target's arg; after its return `instance` is freed. */
	int (*make)(void *arg, struct instance *instance, const char *name, struct tree_target *out,
		    struct err *err);
	void (*drop)(void *arg);
};
