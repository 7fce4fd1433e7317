/* SPDX-License-Identifier: MIT */
/* The settings of one instance: the files of ftrace's tree, by their names. Command-line options
 * and writes to the mounted tree both end here. Text in, text out, one table; nothing here knows of
 * processes or ELF. Not locked: instance/ and the tree lock their own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/stamp.h"
#include "base/err.h"
#include "event/event_set.h"
#include "model/cpumask.h"
#include "model/event_scopes.h"
#include "model/function_command.h"
#include "model/function_list.h"
#include "model/option.h"
#include "model/osnoise.h"
#include "model/rv.h"
#include "model/pid_list.h"
#include "model/tracer.h"
#include "model/units.h"

#define SUBBUF_KB_MAX 512u

enum buffer_mode { BUFFER_STREAM, BUFFER_OVERWRITE, BUFFER_BLOCK, BUFFER_MODES_N };

/* ftrace's clocks, in its order. */
#define TRACE_CLOCKS(X)                                                                        \
	X(LOCAL, "local") X(GLOBAL, "global") X(COUNTER, "counter") X(UPTIME, "uptime")        \
	X(PERF, "perf") X(MONO, "mono") X(MONO_RAW, "mono_raw") X(BOOT, "boot") X(TAI, "tai")  \
	X(STAMP, STAMP_CLOCK)

enum clock_choice {
#define X(id, name) TRACE_CLOCK_##id,
	TRACE_CLOCKS(X)
#undef X
	TRACE_CLOCKS_N
};

struct follow_recording;

struct settings {
	const struct tracer *tracer; /* current_tracer; never NULL */
	/* not a file: what a latency tracer (tracer.wakes) has set aside, until another comes */
	struct { uint64_t options; enum buffer_mode mode; } before_latency;
	/* not a file: besides function_graph's records the function tracer's are made, for a
	 * session that several instances share */
	bool record_both;
	/* not a file: functions of locks (lock_functions.h) that are traced add up in the program,
	 * instead of being recorded */
	bool lock_points;
	bool tracing_on;
	/* not a file: only functions that take a followed object are traced, and what they are
	 * called with is recorded (follow/recorded.h). The caller's; NULL: nothing is followed */
	const struct follow_recording *follows;
	/* function_profile_enabled: calls are counted, whatever the tracer */
	bool function_profile;
	/* stack_tracer_enabled, brace's own: the depth of stacks is watched */
	bool stack_trace;
	/* stack_trace_filter: it is watched at calls of these functions */
	struct function_list stack_filter;
	struct function_list filter;   /* set_ftrace_filter */
	/* set_ftrace_filter: what happens at calls of functions */
	struct function_commands commands;
	bool takes_commands;           /* otherwise a word with a command is refused */
	struct function_list notrace;  /* set_ftrace_notrace */
	struct function_list graph_function; /* set_graph_function */
	struct function_list graph_notrace;  /* set_graph_notrace */
	/* set_ftrace_module, brace's own (-L): modules opened besides the main executable;
	 * function_list_has_module reads it */
	struct function_list modules;
	/* set_ftrace_args, set_ftrace_retval, brace's own: functions whose arguments are recorded,
	 * if the tracer's option asks for any; and whose values are told by their types */
	struct function_list args, retval;
	/* not a file: of a session that several instances share, functions with a condition that
	 * these judge by recorded arguments */
	struct function_list judged;
	struct event_scopes scopes;    /* set_event_scope, brace's own (--within) */
	/* set_event, events/; the owner of the settings owns the catalogue */
	struct event_set events;
	/* set_ftrace_pid: threads whose functions are recorded; empty: all */
	struct pid_list pids;
	struct pid_list notrace_pids;  /* set_ftrace_notrace_pid: threads whose functions are not */
	struct pid_list event_pids;    /* set_event_pid */
	struct pid_list event_notrace_pids; /* set_event_notrace_pid */
	uint32_t max_graph_depth;   /* 0 = no limit */
	/* set_ftrace_args_depth, brace's own: 1: of structures behind pointers the members, too */
	uint32_t args_depth;
	uint64_t tracing_thresh_ns; /* the file is in microseconds, as ftrace's; 0: off */
	uint64_t buffer_size_kb;    /* per thread; the tree's: per CPU */
	/* per_cpu/cpuN/buffer_size_kb; 0: as buffer_size_kb (model/buffer_sizes.h). */
	VEC(uint64_t) cpu_size_kb;
	enum buffer_mode mode;      /* options/block, else options/overwrite; neither: stream */
	uint64_t options;           /* bits by enum trace_option */
	enum clock_choice clock;    /* trace_clock: of the times shown */
	struct cpumask cpumask;     /* tracing_cpumask */
	uint32_t buffer_percent;    /* how full a buffer is before a waiting reader is woken */
	uint32_t subbuf_kb;         /* buffer_subbuf_size_kb: a power of two, 4 to SUBBUF_KB_MAX */
	uint64_t max_latency_us;    /* tracing_max_latency */
	struct osnoise_settings osnoise; /* osnoise/: of the threads of the tracers that measure */
	struct rv_settings rv;      /* rv/: the monitors */
	/* saved_cmdlines_size: kept only, because brace keeps all names */
	uint32_t cmdlines;
};

/* The reach of a write to a setting's file, besides the instance's buffers and readers: bits. */
enum setting_reach {
	/* The write may change what the programs record. */
	REACH_PROGRAMS = 1,
	/* Many writes change nothing there: trace-cmd writes "0" to the filter of each event,
	 * hundreds of them. A change of the programs stops them all, so that comparing pays. */
	REACH_SELDOM = 2,
	/* The write changes the functions that the profile counts or the stack tracer looks at. */
	REACH_COUNTS = 4,
	/* The write selects functions: with events, it asks for a tracer of functions besides. */
	REACH_SELECTS = 8,
};

/* Sets the command line's defaults: ftrace's after boot, except that function_graph is on and the
 * buffer is streamed (nooverwrite) and larger. settings_free frees. */
void settings_init(struct settings *s);
/* Sets the tree's defaults: ftrace's after boot, except for the size of the buffer. */
void settings_init_tree(struct settings *s);
/* A deep copy, but function commands stay shared (function_command.h). What *to had is not freed;
 * settings_free() frees the copy. */
void settings_copy(struct settings *to, const struct settings *from);
/* Frees what s points to, not s itself, nor the catalogue. */
void settings_free(struct settings *s);

/* Does `echo text > file` (append: `>>`). 0, or -errno and *err with the caret (ENOENT: no such
 * file, EACCES: not writable); a failed write changes nothing. */
int settings_write(struct settings *s, const char *file, const char *text, bool append,
		   struct err *err);
/* Does `cat file`: free() the result. NULL: no such file. */
char *settings_read(const struct settings *s, const char *file);
/* Whether the tracer, if there is one, records the function: by its symbol, or by the name as its
 * programmer wrote it. */
bool settings_trace(const struct settings *s, const char *symbol, uint64_t address,
		    const char *module);
/* The pattern whose condition a call of the function has to satisfy to be recorded, or, with
 * *begins, to begin a graph: inside of one it is recorded without. NULL: there is none. */
const struct function_pattern *settings_condition_of(const struct settings *s, const char *symbol,
						     const char *module, bool *begins);
/* The pattern whose condition on what a call returns decides whether a call that begins a graph is
 * kept. NULL: there is none. */
const struct function_pattern *settings_returned_of(const struct settings *s, const char *symbol,
						    const char *module);
/* Whether the tracer's functions are recorded; a latency tracer asks the option function-trace. */
static inline bool settings_functions(const struct settings *s)
{
	return s->tracer->functions &&
	       (!s->tracer->wakes || option_is_set(s->options, OPTION_FUNCTION_TRACE));
}
/* Whether a latency tracer shows its functions as a graph, as the kernel's is_graph(). */
static inline bool settings_display_graph(const struct settings *s)
{
	return s->tracer->wakes && option_is_set(s->options, OPTION_DISPLAY_GRAPH);
}
/* Whether the tracer's trace has entries and exits, not calls. */
static inline bool settings_exits(const struct settings *s)
{
	return s->tracer->exits || settings_display_graph(s);
}
/* Whether any function has a condition, on its arguments or on what it returns. */
static inline bool settings_conditions(const struct settings *s)
{
	return s->tracer->functions && (function_list_has_conditions(&s->filter) ||
					function_list_has_conditions(&s->graph_function));
}
/* Whether exits are recorded with the returned values. */
static inline bool settings_values(const struct settings *s)
{
	return s->tracer->exits && (option_is_set(s->options, OPTION_GRAPH_RETVAL) ||
				    function_list_has_returned(&s->graph_function));
}
/* Whether arguments of functions are recorded at all. */
static inline bool settings_args(const struct settings *s)
{
	return s->tracer->functions &&
	       option_is_set(s->options, s->tracer->exits ? OPTION_GRAPH_ARGS : OPTION_FUNC_ARGS);
}
/* Whether this function's arguments are recorded: an empty list stands for all functions. */
static inline bool settings_args_of(const struct settings *s, const char *symbol,
				    const char *module)
{
	return settings_args(s) &&
	       (!s->args.patterns.n || function_list_has(&s->args, symbol, module));
}
/* Whether any function's value is recorded by its type. */
static inline bool settings_types(const struct settings *s)
{
	return settings_values(s) && s->retval.patterns.n;
}
/* Whether this function's value is recorded by its type. */
static inline bool settings_type_of(const struct settings *s, const char *symbol,
				    const char *module)
{
	return settings_types(s) && function_list_has(&s->retval, symbol, module);
}
/* Whether calls are followed for scopes of events. */
static inline bool settings_scoped(const struct settings *s) { return s->scopes.at.n; }
/* Whether entries are recorded by the function tracer's trampolines, though calls are followed. */
static inline bool settings_record_both(const struct settings *s)
{
	return s->record_both ||
	       (settings_scoped(s) && s->tracer->functions && !s->tracer->exits);
}
/* Whether durations leave out the time in which threads slept (option nosleep-time). */
static inline bool settings_exclude_sleep(const struct settings *s)
{
	return !option_is_set(s->options, OPTION_SLEEP_TIME);
}
/* Whether the order of several threads' records is to be that of cause and effect. */
static inline bool settings_causal(const struct settings *s)
{
	return option_is_set(s->options, OPTION_CAUSAL_ORDER);
}
/* The list behind a file, which is s's own; NULL: the file is no list. */
const struct function_list *settings_list(const struct settings *s, const char *file);
/* Name of the i-th file except options/; NULL behind the last. */
const char *settings_file(unsigned i);
/* Returns the reach of a write to the file (enum setting_reach); 0 also if there is none. */
unsigned settings_reach(const char *file);
/* Whether the file can be written. */
bool settings_can_write(const char *file);
