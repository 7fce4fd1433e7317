/* SPDX-License-Identifier: MIT */
/* What stands behind the files of an instance: nothing at first, when they keep their values and an
 * empty trace; a session once one is attached.
 *
 * All calls may come from any thread. `apply`, `clear`, `make` and `drop` of one instance come one at a time;
 * the others come at any time between instance_attach and the return of instance_detach. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/settings.h"
#include "base/out.h"
#include "tree/tree.h"

struct instance;

struct tree_target {
	const struct tree_target_ops *ops; /* NULL: there is none */
	void *arg;
};

/* What `echo 0`, `1` and `2` > snapshot mean. */
enum tree_snapshot { TREE_SNAPSHOT_FREE, TREE_SNAPSHOT_TAKE, TREE_SNAPSHOT_CLEAR };

/* per_cpu/cpuN/stats. */
struct tree_cpu_stats {
	uint64_t entries, overrun, bytes, dropped, read;
	uint64_t oldest, now;      /* by the trace clock, in nanoseconds; now is CLOCK_MONOTONIC's if the target leaves it */
	bool numbers;              /* no nanoseconds: by a clock of another unit */
};

struct tree_target_ops {
	/* It does what settings.commands (set_ftrace_filter's `f:traceoff`) and the triggers of settings.events say; else they
	 * are refused. */
	bool commands;
	/* The settings are about to be these, because of a write to `file` ("options/overwrite"; NULL: all
	 * are new, the target is being attached). 0 when it is so; -errno and *err with the column in what
	 * was written: nothing has changed then, and the settings stay what they were. */
	int (*apply)(void *arg, const struct settings *next, const char *file, struct err *err);
	/* What was recorded before this call has brought about what triggers and commands make of it. NULL: nothing does. */
	void (*catch_up)(void *arg);
	/* The settings become what triggers and commands have made of them since: tracing_on, which events are enabled.
	 * Called with the instance's settings locked. */
	void (*present)(void *arg, struct settings *s);
	/* A word that was written to a list of functions ("set_ftrace_filter", without a `!`): 0, or -EINVAL and
	 * *err when it means none of the functions there are. */
	int (*check)(void *arg, const char *file, const char *word, struct err *err);
	/* The name, for such a list, of the function on this line (from 1) of available_filter_functions; free() it.
	 * NULL: there are not so many. */
	char *(*function_at)(void *arg, unsigned long line);
	/* A line for each function that the list holds, "name" or "name [module]"; NULL: each one there is. The
	 * order is the same at all times. */
	void (*functions)(void *arg, const struct function_list *list, struct out *out);
	/* kallsyms: a line "ADDRESS t NAME", of libraries "ADDRESS t NAME\t[MODULE]", for each function, the address in 16 hexadecimal
	 * digits as the ip of records has it, by which trace-cmd names it. NULL: none. */
	void (*symbols)(void *arg, struct out *out);
	/* `cat trace`, header and all; nothing is consumed. */
	int (*trace)(void *arg, const struct settings *s, struct out *out, struct err *err);
	int (*clear)(void *arg, struct err *err); /* `> trace` */
	/* Nothing is recorded until the last pause has ended; tracing_on stays what it is. */
	void (*pause)(void *arg, bool begins);
	/* trace_pipe: the next bytes of whole lines, consumed; -EAGAIN when there are none now, 0 at the end.
	 * One reader at a time. Call instance_wake when there are some. */
	ssize_t (*pipe)(void *arg, char *buf, size_t n, struct err *err);
	bool (*pipe_ready)(void *arg);
	/* The rest of trace_pipe, of a CPU or all (UINT_MAX), while nothing is recorded: the next bytes, 0 when there are no more.
	 * -EAGAIN: tracing_on is 1. */
	ssize_t (*pipe_rest)(void *arg, unsigned cpu, char *buf, size_t n, struct err *err);
	/* The same of what ran on one CPU; NULL: nothing did. */
	int (*cpu_trace)(void *arg, unsigned cpu, const struct settings *s, struct out *out, struct err *err);
	int (*cpu_clear)(void *arg, unsigned cpu, struct err *err);
	ssize_t (*cpu_pipe)(void *arg, unsigned cpu, char *buf, size_t n, struct err *err);
	bool (*cpu_pipe_ready)(void *arg, unsigned cpu);
	/* trace_pipe_raw: the next sub-buffer, as events/header_page has it, consumed; unfinished: also one that has room.
	 * TREE_PAGE bytes, or -EAGAIN. cpu_raw_ready: as much is there as buffer_percent says. */
	ssize_t (*cpu_raw)(void *arg, unsigned cpu, char *page, bool unfinished, struct err *err);
	bool (*cpu_raw_ready)(void *arg, unsigned cpu);
	void (*cpu_stats)(void *arg, unsigned cpu, struct tree_cpu_stats *out);
	/* The second buffer. snapshot_trace sets *shown and writes as `trace` does, of one CPU or all (UINT_MAX), or leaves both:
	 * it is empty. */
	int (*snapshot)(void *arg, enum tree_snapshot what, struct err *err);
	void (*snapshot_clear)(void *arg, unsigned cpu); /* what it has of one CPU */
	int (*snapshot_trace)(void *arg, const struct settings *s, unsigned cpu, bool *shown, struct out *out, struct err *err);
	/* trace_stat/functionN: the rows, without the two header lines, of what settings.function_profile has counted on a
	 * CPU. NULL: it cannot count, and function_profile_enabled is refused. */
	void (*profile)(void *arg, unsigned cpu, const struct settings *s, struct out *out);
	void (*dumped)(void *arg, struct out *out);          /* dump: what the commands dump and cpudump have printed last */
	/* The stack tracer: stack_trace's text, false: there is none; stack_max_size, and what is written to it. NULL: it cannot, and
	 * stack_tracer_enabled is refused. */
	bool (*stacks)(void *arg, struct out *out);
	uint64_t (*stack_max)(void *arg);
	void (*stack_reset)(void *arg, uint64_t bytes);
	void (*cmdlines)(void *arg, struct out *out);        /* saved_cmdlines: "TID NAME" lines */
	void (*tgids)(void *arg, struct out *out);           /* saved_tgids: "TID PID" lines */
	/* enabled_functions: "NAME (1)" lines of what is hooked; ever: touched_functions, of what was at any time. */
	void (*hooked)(void *arg, bool ever, struct out *out);
	/* trace_marker (raw: trace_marker_raw, the first 4 bytes are the id), written by this thread. */
	int (*marker)(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err);
	/* mkdir instances/NAME, rmdir: a target for the new instance. NULL: it has none. `drop` gets the new one's; when
	 * it has returned, `instance` is no more. */
	int (*make)(void *arg, struct instance *instance, const char *name, struct tree_target *out, struct err *err);
	void (*drop)(void *arg);
};
