/* SPDX-License-Identifier: MIT */
/* The settings of one instance: the files of ftrace's tree, by their names. Command-line
 * options are writes to them, and so will be `echo` into the mounted tree. Text in, text
 * out, one table; nothing here knows of processes or ELF. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "event/event_set.h"
#include "model/cpumask.h"
#include "model/function_command.h"
#include "model/function_list.h"
#include "model/option.h"
#include "model/pid_list.h"
#include "model/units.h"

#define SUBBUF_KB_MAX 512u

enum buffer_mode { BUFFER_STREAM, BUFFER_OVERWRITE, BUFFER_BLOCK };

/* ftrace's clocks, in its order. */
#define TRACE_CLOCKS(X)                                                                        \
	X(LOCAL, "local") X(GLOBAL, "global") X(COUNTER, "counter") X(UPTIME, "uptime")        \
	X(PERF, "perf") X(MONO, "mono") X(MONO_RAW, "mono_raw") X(BOOT, "boot") X(TAI, "tai")  \
	X(X86_TSC, "x86-tsc")

enum clock_choice {
#define X(id, name) TRACE_CLOCK_##id,
	TRACE_CLOCKS(X)
#undef X
	TRACE_CLOCKS_N
};

struct settings {
	bool graph;                 /* current_tracer: function_graph, else function */
	bool nop;                   /* ... none: no function is recorded; graph is false then */
	bool calls_too;             /* no file: beside function_graph's records the function tracer's, for a session that
				       several instances share */
	bool tracing_on;
	bool function_profile;      /* function_profile_enabled: calls are counted, whatever the tracer */
	bool stack_trace;           /* stack_tracer_enabled, brace's own: how deep stacks become is watched */
	struct function_list stack_filter; /* stack_trace_filter: at calls of these functions */
	struct function_list filter;   /* set_ftrace_filter */
	struct function_commands commands; /* set_ftrace_filter: what calls of functions bring about */
	bool takes_commands;           /* else a word with a command is refused */
	struct function_list notrace;  /* set_ftrace_notrace */
	struct function_list graph_function; /* set_graph_function */
	struct function_list graph_notrace;  /* set_graph_notrace */
	struct function_list modules;  /* set_ftrace_module, brace's own (-L): modules opened besides
					  the main executable; module_list_match reads it */
	struct event_set events;       /* set_event, events/: the catalogue is whoever's the settings are */
	struct pid_list pids;          /* set_ftrace_pid: threads whose functions are recorded; empty: all */
	struct pid_list notrace_pids;  /* set_ftrace_notrace_pid: whose are not */
	struct pid_list event_pids;    /* set_event_pid */
	struct pid_list event_notrace_pids; /* set_event_notrace_pid */
	uint32_t max_graph_depth;   /* 0 = no limit */
	uint64_t tracing_thresh_ns; /* the file is in microseconds, as ftrace's; 0 = off */
	uint64_t buffer_size_kb;    /* per thread; the tree's: per CPU */
	VEC(uint64_t) cpu_size_kb;  /* per_cpu/cpuN/buffer_size_kb, 0: as the others (model/buffer_sizes.h) */
	enum buffer_mode mode;      /* options/block, or else options/overwrite; neither: stream */
	uint64_t options;           /* bits by enum trace_option */
	enum clock_choice clock;    /* trace_clock: of the times that are shown */
	struct cpumask cpumask;     /* tracing_cpumask */
	uint32_t buffer_percent;    /* how full before who waits for data is woken */
	uint32_t subbuf_kb;         /* buffer_subbuf_size_kb: a power of two, 4 to SUBBUF_KB_MAX */
	uint64_t max_latency_us;    /* tracing_max_latency */
	uint32_t cmdlines;          /* saved_cmdlines_size: brace keeps all names, so it is only kept */
};

/* The command line's defaults, as ftrace's after boot but for: function_graph is on, and the
 * buffer is streamed (nooverwrite) and larger. */
void settings_init(struct settings *s);
/* The tree's: ftrace's after boot, but for the size of the buffer. */
void settings_init_tree(struct settings *s);
void settings_copy(struct settings *to, const struct settings *from);
void settings_free(struct settings *s);

/* `echo text > file` (append: `>>`). 0, or -errno and *err with the caret (ENOENT: no such file,
 * EACCES: not writable); a failed write changes nothing. */
int settings_write(struct settings *s, const char *file, const char *text, bool append, struct err *err);
/* `cat file`: free() the result. NULL = no such file. */
char *settings_read(const struct settings *s, const char *file);
/* Whether the tracer, if there is one, records the function: by its symbol or as its programmer wrote it. */
bool settings_trace(const struct settings *s, const char *symbol, const char *module);
/* Whether exits are to be recorded with what their functions returned. */
static inline bool settings_values(const struct settings *s)
{
	return s->graph && option_is_set(s->options, OPTION_GRAPH_RETVAL);
}
/* The tracer's name, as current_tracer has it. */
const char *settings_tracer(const struct settings *s);
/* The list that a file shows; NULL: the file is no list. */
const struct function_list *settings_list(const struct settings *s, const char *file);
/* The files' names but options/, in order; NULL behind the last. */
const char *settings_file(unsigned i);
/* Whether it is a setting, and not only told. */
bool settings_can_write(const char *file);
