/* SPDX-License-Identifier: MIT */
/* The table of files and, for each kind of value, how it is parsed and printed. Commands (options),
 * the tree and the trace file's settings go through it; the caller has the settings for itself.
 * Each write function changes *s only if it succeeds. */
#include "model/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/buffer_sizes.h"
#include "model/options.h"

/* A streamed buffer must outlast the time between two rounds of the tracer. Memory is used only as
 * far as a thread fills it. */
#define BUFFER_SIZE_KB 32768
/* A buffer that keeps the latest records is filled by every thread, and kept to the end. */
#define BUFFER_SIZE_KB_KEPT 4096
/* ftrace's value after boot, and its maximum. */
#define CMDLINES 6552
#define CMDLINES_MAX 32768

/* A file of the tree that is a setting. */
struct setting_file {
	const char *name;
	unsigned reach; /* enum setting_reach */
	/* append: `>>`. */
	int (*write)(struct settings *s, const struct setting_file *f, const char *text,
		     bool append, struct err *err); /* NULL: read only */
	char *(*read)(const struct settings *s, const struct setting_file *f);
	/* offset of the value in struct settings, where one function serves several files */
	size_t offset;
	const char *empty; /* text of an empty list */
	bool number;       /* a number: a newline may follow it, but no blanks around it */
};

#define AT(s, f, type) ((type *)((char *)(s) + (f)->offset))
#define AT_CONST(s, f, type) ((const type *)((const char *)(s) + (f)->offset))

static const char blanks[] = " \t\r\n";

/* --- values ------------------------------------------------------------------------- */

/* Writes a list of functions that conditions may narrow; function_list_write() changes it only if
 * all words are right. */
static int write_traced(struct settings *s, const struct setting_file *f, const char *text,
			   bool append, struct err *err)
{
	return function_list_write(AT(s, f, struct function_list), text, append, err);
}

/* Writes a list without conditions. */
static int write_functions(struct settings *s, const struct setting_file *f, const char *text,
			   bool append, struct err *err)
{
	int e = function_list_refuse_conditions(text, err);

	return e ? e : write_traced(s, f, text, append, err);
}

/* A list that is empty shows the kernel's sentence for it. */
static char *read_list(const struct settings *s, const struct setting_file *f)
{
	return function_list_read(AT_CONST(s, f, struct function_list), f->empty);
}

/* Callback of function_commands_write: whether a command may switch the event. Before a catalogue
 * is there no event exists, so that enable_event is refused. */
static bool event_exists(void *arg, const char *system, const char *event)
{
	const struct settings *s = arg;
	const struct event_entry *e =
		s->events.catalogue ? events_find(s->events.catalogue, system, event) : NULL;

	return e && events_can_enable(e);
}

/* Arms the events that commands switch (by 1) or releases them (by -1): a switched event must be
 * recorded to be switched on. */
static void hold_events(struct settings *s, int by)
{
	for (size_t i = 0; i < s->commands.at.n; i++) {
		const struct function_command *c = s->commands.at.at[i];

		if (c->event)
			event_set_hold(&s->events,
				       events_find(s->events.catalogue, c->system, c->event)->index,
				       by);
	}
}

/* Takes the commands out of the text, which has blanks in their place then. */
static int write_commands(struct settings *s, struct function_commands *next, char *text,
			  struct err *err)
{
	size_t n;
	int e = 0;

	for (char *p = text + strspn(text, blanks); *p && !e; p += n + strspn(p + n, blanks)) {
		char *word;

		n = function_word_length(p);
		word = mem_strndup(p, n);
		if (function_command_in(word)) {
			e = function_commands_write(next, word, event_exists, s, err);
			memset(p, ' ', n);
		}
		free(word);
	}
	return e;
}

/* A call that set_ftrace_filter selects alone cannot be taken back from among those it made. */
static int refuse_returned(const char *text, struct err *err)
{
	struct function_list trial = { 0 };
	const char *at = strstr(text, "$retval");
	int e = at ? function_list_write(&trial, text, false, err) : 0;

	if (!e && function_list_has_returned(&trial))
		e = err_at(err, EINVAL, text, (size_t)(at - text),
			   "a condition on what a call returns goes with -g (set_graph_function), "
			   "which shows the call with all that it called");
	function_list_free(&trial);
	return e;
}

/* Writes set_ftrace_filter: names, which `>` replaces, and commands, which it does not. */
static int write_filter(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	struct function_commands next;
	char *names;
	int e = refuse_returned(text, err);

	if (e)
		return e;
	if (!s->takes_commands)
		return write_traced(s, f, text, append, err);
	names = mem_strdup(text);
	function_commands_copy(&next, &s->commands);
	e = write_commands(s, &next, names, err);
	/* `echo f:traceoff > set_ftrace_filter` also clears the names, as in ftrace; `>>` with
	 * commands alone does not touch them. */
	if (!e && (!append || names[strspn(names, blanks)]))
		e = write_traced(s, f, names, append, err);
	free(names);
	if (!e) {
		struct function_commands old = s->commands;

		/* Released and held again, so that counts are right for events in both lists. */
		hold_events(s, -1);
		s->commands = next;
		hold_events(s, 1);
		next = old;
	}
	function_commands_free(&next);
	return e;
}

/* Shows the names, then the commands, in the order of the kernel's set_ftrace_filter. */
static char *read_filter(const struct settings *s, const struct setting_file *f)
{
	char *names = read_list(s, f), *commands = function_commands_read(&s->commands);
	char *both = mem_printf("%s%s", names, commands);

	free(names);
	free(commands);
	return both;
}

/* Words of set_ftrace_module are names of modules, where other lists have functions. */
static int write_modules(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	int e = function_list_refuse_conditions(text, err);

	return e ? e : function_list_write_modules(
			       AT(s, f, struct function_list), text, append, err);
}

/* Writes one word after the other into *s. It stops at the first wrong one, with the earlier ones
 * written; `words` is cut up. */
static int write_words(struct event_set *s, char *words, struct err *err)
{
	char *save = NULL;
	int e = 0;

	for (char *word = strtok_r(words, " \t\r\n", &save); word && !e;
	     word = strtok_r(NULL, " \t\r\n", &save))
		e = event_set_write(s, word, err);
	return e;
}

/* set_event: names of events, globs and ! as in the kernel. On failure nothing has changed. */
static int write_events(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	struct event_set next;
	char *words = mem_strdup(text);
	int e;

	/* Words before a wrong one must not stay: work on a copy. */
	event_set_copy(&next, &s->events);
	if (!append)
		event_set_clear(&next);
	e = write_words(&next, words, err);
	free(words);
	event_set_free(e ? &next : &s->events);
	if (!e)
		s->events = next;
	return e;
}

static char *read_events(const struct settings *s, const struct setting_file *f)
{
	return event_set_read(&s->events);
}

/* Every event is recorded in these scopes alone, if there are any. */
static int write_scopes(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	int e = event_scopes_write(&s->scopes, text, append, err);

	if (!e)
		s->events.scopes = event_scopes_all(&s->scopes);
	return e;
}

static char *read_scopes(const struct settings *s, const struct setting_file *f)
{
	return event_scopes_read(&s->scopes);
}

static int write_pids(struct settings *s, const struct setting_file *f, const char *text,
		      bool append, struct err *err)
{
	return pid_list_write(AT(s, f, struct pid_list), text, append, err);
}

static char *read_pids(const struct settings *s, const struct setting_file *f)
{
	return pid_list_read(AT_CONST(s, f, struct pid_list), f->empty);
}

/* set_graph_function widens the filter: those functions are recorded, too. */
bool settings_trace(const struct settings *s, const char *symbol, uint64_t address,
		    const char *module)
{
	return (!s->filter.patterns.n ||
		function_list_has_at(&s->filter, symbol, address, module) ||
		function_list_has_at(&s->graph_function, symbol, address, module)) &&
	       !function_list_has_at(&s->notrace, symbol, address, module);
}

/* *begins: the condition chooses where graphs begin, and within them no call is left out. */
const struct function_pattern *settings_condition_of(const struct settings *s, const char *symbol,
						     const char *module, bool *begins)
{
	const struct function_pattern *p = function_list_find(&s->graph_function, symbol, module);

	*begins = p && s->tracer->exits;
	if (!p)
		p = function_list_find(&s->filter, symbol, module);
	return p && p->condition ? p : NULL;
}

const struct function_pattern *settings_returned_of(const struct settings *s, const char *symbol,
						    const char *module)
{
	const struct function_pattern *p = function_list_find(&s->graph_function, symbol, module);

	return p && p->returned ? p : NULL;
}

/* Nothing is started here: the owner of the settings compares them with those before and acts. */
/* A latency tracer shows its trace in the latency format, out of a buffer that overwrites, as the
 * kernel's do (__wakeup_tracer_init); the next tracer finds the options as they were. */
static void change_tracer(struct settings *s, const struct tracer *next)
{
	const uint64_t format = OPTION_BIT(OPTION_LATENCY_FORMAT);

	if (s->tracer->wakes) {
		s->options = (s->options & ~format) | (s->before_latency.options & format);
		options_set_mode(s, s->before_latency.mode);
	}
	s->tracer = next;
	if (!next->wakes)
		return;
	s->before_latency.options = s->options;
	s->before_latency.mode = s->mode;
	s->options |= format;
	options_set_mode(s, BUFFER_OVERWRITE);
	s->max_latency_us = 0;
}

/* ftrace says EINVAL and no more; the names are what one looks for next. */
static int write_tracer(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	const struct tracer *tracer = tracer_find(text);

	if (!tracer) {
		char *names = tracer_names();
		int r = err_at(err, EINVAL, text, 0, "unknown tracer, there are: %s", names);

		free(names);
		return r;
	}
	change_tracer(s, tracer);
	return 0;
}

static char *read_tracer(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%s\n", s->tracer->name);
}

/* Lists the tracers in one line, as available_tracers has them; nobody writes it. */
static char *read_tracers(const struct settings *s, const struct setting_file *f)
{
	char *names = tracer_names(), *text = mem_printf("%s\n", names);

	free(names);
	return text;
}

/* Any number that is not 0 is on, as in ftrace. */
static int write_bool(struct settings *s, const struct setting_file *f, const char *text,
		      bool append, struct err *err)
{
	uint64_t v;
	int e = units_parse_number(text, f->name, 0, UINT64_MAX, &v, NULL);

	if (e)
		return err_at(err, -e, text, 0, "%s is 0 or 1", f->name);
	*AT(s, f, bool) = v;
	return 0;
}

static char *read_bool(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%d\n", *AT_CONST(s, f, bool));
}

/* At most INT32_MAX, which is the trampolines' "no limit". */
static int write_depth(struct settings *s, const struct setting_file *f, const char *text,
		       bool append, struct err *err)
{
	uint64_t v;
	int e = units_parse_number(text, "a depth", 0, INT32_MAX, &v, err);

	if (!e)
		s->max_graph_depth = (uint32_t)v;
	return e;
}

static char *read_depth(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->max_graph_depth);
}

/* One level is all: the kernel reads the memory behind a pointer. */
static int write_args_depth(struct settings *s, const struct setting_file *f, const char *text,
			    bool append, struct err *err)
{
	uint64_t v;
	int e = units_parse_number(text, "the depth of arguments", 0, 1, &v, err);

	if (!e)
		s->args_depth = (uint32_t)v;
	return e;
}

static char *read_args_depth(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->args_depth);
}

static int write_thresh(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	/* Microseconds without a unit. */
	return units_parse_time_ns(text, 1000, &s->tracing_thresh_ns, err);
}

static char *read_thresh(const struct settings *s, const struct setting_file *f)
{
	char buf[32];

	return mem_printf("%s\n", units_format_thresh(s->tracing_thresh_ns, buf));
}

/* -1: the size of all CPUs; a CPU's own file is no row of the table. */
static int write_size(struct settings *s, const struct setting_file *f, const char *text,
		      bool append, struct err *err)
{
	return buffer_size_write(s, -1, text, err);
}

static char *read_size(const struct settings *s, const struct setting_file *f)
{
	return buffer_size_read(s, -1);
}

static const char *const clocks[TRACE_CLOCKS_N] = {
#define X(id, name) name,
	TRACE_CLOCKS(X)
#undef X
};

/* A name has to be one of the table's, in full. */
static int write_clock(struct settings *s, const struct setting_file *f, const char *text,
		       bool append, struct err *err)
{
	for (unsigned i = 0; i < TRACE_CLOCKS_N; i++) {
		if (!strcmp(text, clocks[i])) {
			s->clock = i;
			return 0;
		}
	}
	return err_at(err, EINVAL, text, 0, "unknown clock; trace_clock shows those there are");
}

/* All clocks in one line, the current one in brackets. 16 bytes suffice for the longest name, its
 * brackets and a blank. */
static char *read_clock(const struct settings *s, const struct setting_file *f)
{
	char text[TRACE_CLOCKS_N * 16], *p = text;

	for (unsigned i = 0; i < TRACE_CLOCKS_N; i++)
		p += sprintf(p, s->clock == i ? "%s[%s]" : "%s%s", i ? " " : "", clocks[i]);
	return mem_printf("%s\n", text);
}

/* A number above the maximum becomes the maximum, as in the kernel. */
static int write_copies(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	uint64_t v;
	int e = units_parse_number(text, "a number of bytes", 0, UINT32_MAX, &v, err);

	if (!e)
		s->events.syscall_bytes =
			v < SYSCALL_BYTES_MAX ? (uint32_t)v : SYSCALL_BYTES_MAX;
	return e;
}

static char *read_copies(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->events.syscall_bytes);
}

static int write_cpumask(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	return cpumask_parse(&s->cpumask, text, err);
}

static char *read_cpumask(const struct settings *s, const struct setting_file *f)
{
	return cpumask_print(&s->cpumask);
}

/* Out of range is EINVAL, as from the kernel's buffer_percent_write(), where units_parse_number
 * says ERANGE. */
static int write_percent(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	uint64_t v;

	if (units_parse_number(text, f->name, 0, 100, &v, err))
		return err_code(err, EINVAL);
	s->buffer_percent = (uint32_t)v;
	return 0;
}

/* The kernel's syntax: decimal digits. A size between two powers of two becomes the larger one. */
static int write_subbuf(struct settings *s, const struct setting_file *f, const char *text,
			bool append, struct err *err)
{
	const char *from = text + (*text == '+');
	size_t digits = strspn(from, "0123456789");
	uint32_t kb = 4;
	unsigned long v;

	/* Up to nine digits fit in an unsigned long, so that strtoul cannot fail. */
	v = digits && digits < 10 && !from[digits] ? strtoul(from, NULL, 10) : 0;
	if (!v || v > SUBBUF_KB_MAX)
		return err_at(err, EINVAL, text, 0, "the size of a sub-buffer is 1 to %u kilobytes",
			      SUBBUF_KB_MAX);
	while (kb < v)
		kb *= 2;
	s->subbuf_kb = kb;
	return 0;
}

static char *read_subbuf(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->subbuf_kb);
}

static char *read_percent(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->buffer_percent);
}

/* The limit leaves room for the value in nanoseconds. */
static int write_latency(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	return units_parse_number(text, f->name, 0, UINT64_MAX / 1000, &s->max_latency_us, err);
}

static char *read_latency(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu64 "\n", s->max_latency_us);
}

/* Out of range is EINVAL here too; the kernel refuses 0 and more than PID_MAX_DEFAULT. */
static int write_cmdlines(struct settings *s, const struct setting_file *f, const char *text,
			  bool append, struct err *err)
{
	uint64_t v;

	if (units_parse_number(text, f->name, 1, CMDLINES_MAX, &v, err))
		return err_code(err, EINVAL);
	s->cmdlines = (uint32_t)v;
	return 0;
}

static char *read_cmdlines(const struct settings *s, const struct setting_file *f)
{
	return mem_printf("%" PRIu32 "\n", s->cmdlines);
}

static int write_osnoise(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	return osnoise_write(&s->osnoise, f->name, text, err);
}

static char *read_osnoise(const struct settings *s, const struct setting_file *f)
{
	return osnoise_read(&s->osnoise, f->name);
}

static int write_rv(struct settings *s, const struct setting_file *f, const char *text,
		    bool append, struct err *err)
{
	return rv_write(&s->rv, f->name, text, append, err);
}

static char *read_rv(const struct settings *s, const struct setting_file *f)
{
	return rv_read(&s->rv, f->name);
}

/* Writes one option or several, all or none of them. */
static int write_options(struct settings *s, const struct setting_file *f, const char *text,
			 bool append, struct err *err)
{
	return options_write(s, text, err);
}

static char *read_options(const struct settings *s, const struct setting_file *f)
{
	return options_read(s);
}

/* --- the table ---------------------------------------------------------------------- */

/* Rows of the table: lists of functions, numbers, lists of threads. */
#define LIST(file_name, reach, field, parse, empty_text) \
	{ file_name, reach, parse, read_list, offsetof(struct settings, field), empty_text }

#define NUMBER(name, reach, parse, read, offset) { name, reach, parse, read, offset, NULL, true }

#define PIDS(file_name, reach, field, empty_text)                                             \
	{                                                                                     \
		file_name, reach, write_pids, read_pids, offsetof(struct settings, field),    \
			empty_text                                                            \
	}

#define MEASURES(name, number) { name, 0, write_osnoise, read_osnoise, 0, NULL, number }

#define RV_SHOWS(name) { "rv/" name, 0, NULL, read_rv, 0, NULL }
#define RV_TAKES(name, reach) { "rv/" name, reach, write_rv, read_rv, 0, NULL }
#define RV_SWITCH(name, reach) NUMBER("rv/" name, reach, write_rv, read_rv, 0)
/* The files of a monitor. */
#define RV_FILES(id, name, about) \
	RV_SHOWS("monitors/" name "/desc"), RV_SWITCH("monitors/" name "/enable", SELDOM), \
	RV_TAKES("monitors/" name "/reactors", 0),

/* The column `reach`; 0: buffers and readers alone. */
#define PROGRAMS REACH_PROGRAMS
#define SELDOM (REACH_PROGRAMS | REACH_SELDOM)
#define COUNTS REACH_COUNTS
#define SELECTS REACH_SELECTS

/* One row a file, in alphabetical order for the reader's sake; find_file searches from the top.
 * Rows with offset 0 have functions that know their field. A file that is not here is one of
 * options/, a size file of one CPU, or not a setting. */
static const struct setting_file files[] = {
	{ "available_tracers", 0, NULL, read_tracers, 0, NULL },
	NUMBER("buffer_percent", 0, write_percent, read_percent, 0),
	NUMBER("buffer_subbuf_size_kb", 0, write_subbuf, read_subbuf, 0),
	NUMBER("buffer_size_kb", 0, write_size, read_size, 0),
	{ "current_tracer", PROGRAMS | COUNTS, write_tracer, read_tracer, 0, NULL },
	NUMBER("function_profile_enabled", PROGRAMS | COUNTS, write_bool, read_bool,
	       offsetof(struct settings, function_profile)),
	NUMBER("max_graph_depth", PROGRAMS | SELECTS, write_depth, read_depth, 0),
	MEASURES("osnoise/cpus", false), MEASURES("osnoise/options", false), MEASURES("osnoise/period_us", true),
	MEASURES("osnoise/print_stack", true), MEASURES("osnoise/runtime_us", true),
	MEASURES("osnoise/stop_tracing_total_us", true), MEASURES("osnoise/stop_tracing_us", true),
	MEASURES("osnoise/timerlat_period_us", true),
	MEASURES("hwlat_detector/mode", false), MEASURES("hwlat_detector/width", true),
	MEASURES("hwlat_detector/window", true),
	RV_SHOWS("available_monitors"), RV_SHOWS("available_reactors"),
	RV_TAKES("enabled_monitors", SELDOM), RV_SWITCH("monitoring_on", SELDOM),
	RV_SWITCH("reacting_on", 0), RV_MONITORS(RV_FILES)
	NUMBER("saved_cmdlines_size", 0, write_cmdlines, read_cmdlines, 0),
	{ "set_event", SELDOM, write_events, read_events, 0, NULL },
	PIDS("set_event_notrace_pid", SELDOM, event_notrace_pids, ""),
	PIDS("set_event_pid", SELDOM, event_pids, ""),
	{ "set_event_scope", PROGRAMS, write_scopes, read_scopes, 0, NULL },
	LIST("set_ftrace_args", PROGRAMS | SELECTS, args, write_functions,
	     "#### all functions enabled ####\n"),
	NUMBER("set_ftrace_args_depth", PROGRAMS | SELECTS, write_args_depth, read_args_depth, 0),
	{ "set_ftrace_filter", PROGRAMS | COUNTS | SELECTS, write_filter, read_filter,
	  offsetof(struct settings, filter), "#### all functions enabled ####\n" },
	LIST("set_ftrace_module", PROGRAMS | COUNTS, modules, write_modules,
	     "#### main executable only ####\n"),
	LIST("set_ftrace_notrace", PROGRAMS | COUNTS | SELECTS, notrace, write_functions,
	     "#### no functions disabled ####\n"),
	PIDS("set_ftrace_notrace_pid", SELDOM | COUNTS, notrace_pids, "no pid\n"),
	PIDS("set_ftrace_pid", SELDOM | COUNTS, pids, "no pid\n"),
	LIST("set_ftrace_retval", PROGRAMS | SELECTS, retval, write_functions,
	     "#### no functions enabled ####\n"),
	LIST("set_graph_function", PROGRAMS | COUNTS | SELECTS, graph_function, write_traced,
	     "#### all functions enabled ####\n"),
	LIST("set_graph_notrace", PROGRAMS, graph_notrace, write_functions,
	     "#### no functions disabled ####\n"),
	NUMBER("stack_tracer_enabled", PROGRAMS | COUNTS, write_bool, read_bool,
	       offsetof(struct settings, stack_trace)),
	LIST("stack_trace_filter", COUNTS, stack_filter, write_functions,
	     "#### all functions enabled ####\n"),
	NUMBER("syscall_user_buf_size", SELDOM, write_copies, read_copies, 0),
	{ "trace_clock", 0, write_clock, read_clock, 0, NULL },
	{ "trace_options", SELDOM, write_options, read_options, 0, NULL },
	{ "tracing_cpumask", 0, write_cpumask, read_cpumask, 0, NULL },
	NUMBER("tracing_max_latency", 0, write_latency, read_latency, 0),
	NUMBER("tracing_on", 0, write_bool, read_bool, offsetof(struct settings, tracing_on)),
	NUMBER("tracing_thresh", PROGRAMS | SELECTS, write_thresh, read_thresh, 0),
};
#define FILES_N (sizeof(files) / sizeof(*files))

/* NULL: not a file of this table. */
static const struct setting_file *find_file(const char *name)
{
	for (size_t i = 0; i < FILES_N; i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}

/* The option of a file options/NAME; TRACE_OPTIONS_N if the name is another's or the option does
 * not exist. */
static enum trace_option find_option_file(const char *name)
{
	static const char dir[] = "options/";

	if (strncmp(name, dir, strlen(dir)))
		return TRACE_OPTIONS_N;
	return option_find(name + strlen(dir), strlen(name + strlen(dir)));
}

/* The text without blanks and newlines around it, which ftrace's files ignore, too. free() it. */
static char *trim_text(const char *text)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	return mem_strndup(text, n);
}

/* The text without its last newline: ftrace's numbers allow no more. free() it. */
static char *without_newline(const char *text)
{
	size_t n = strlen(text);

	return mem_strndup(text, n - (n && text[n - 1] == '\n'));
}

/* text as it was written, perhaps with a newline. s is unchanged by a failure. ENOENT, EACCES:
 * the file; else the text is at fault, with a column. */
int settings_write(struct settings *s, const char *file, const char *text, bool append,
		   struct err *err)
{
	const struct setting_file *f = find_file(file);
	enum trace_option o = find_option_file(file);
	int e, cpu = buffer_size_file_cpu(s, file);
	char *value;

	if (!f && o == TRACE_OPTIONS_N && cpu < 0)
		return err_set(err, ENOENT, "there is no file %s", file);
	if (f && !f->write)
		return err_set(err, EACCES, "%s can only be read", file);
	/* Three kinds of files, in the order of the checks above: a row of the table, an option, a
	 * CPU's size. */
	value = !f || f->number ? without_newline(text) : trim_text(text);
	e = f	      ? f->write(s, f, value, append, err)
	    : cpu < 0 ? options_write_one(s, o, value, err)
		      : buffer_size_write(s, cpu, value, err);
	free(value);
	return e;
}

/* The file's text with its newline, for free(); NULL: there is no such file. */
char *settings_read(const struct settings *s, const char *file)
{
	const struct setting_file *f = find_file(file);
	enum trace_option o = find_option_file(file);
	int cpu = buffer_size_file_cpu(s, file);

	if (f)
		return f->read(s, f);
	if (cpu >= 0)
		return buffer_size_read(s, cpu);
	return o == TRACE_OPTIONS_N ? NULL : mem_printf("%d\n", option_is_set(s->options, o));
}

/* Two kinds of rows have a list: plain ones, and set_ftrace_filter with its commands. */
const struct function_list *settings_list(const struct settings *s, const char *file)
{
	const struct setting_file *f = find_file(file);

	return f && (f->read == read_list || f->read == read_filter)
		       ? AT_CONST(s, f, struct function_list)
		       : NULL;
}

/* NULL behind the last: a way to go through all of them. */
const char *settings_file(unsigned i)
{
	return i < FILES_N ? files[i].name : NULL;
}

/* Bits that say whether a write concerns the programs, too, or the session alone. */
unsigned settings_reach(const char *file)
{
	const struct setting_file *f = find_file(file);
	enum trace_option o = find_option_file(file);

	if (f)
		return f->reach;
	return o < TRACE_OPTIONS_N && option_info(o)->programs ? SELDOM : 0;
}

bool settings_can_write(const char *file)
{
	const struct setting_file *f = find_file(file);

	return f && f->write;
}

/* For a command line. settings_init_tree() has what ftrace's files show when nobody has written
 * yet. */
void settings_init(struct settings *s)
{
	*s = (struct settings){
		.tracer = &tracer_function_graph,
		.tracing_on = true,
		.buffer_size_kb = BUFFER_SIZE_KB,
		.options = options_default(),
		.clock = TRACE_CLOCK_STAMP,
		.buffer_percent = 50,
		.subbuf_kb = 4,
		.cmdlines = CMDLINES,
	};
	/* The command line names events before any program is there to have them. */
	s->events.waits = true;
	s->events.syscall_bytes = SYSCALL_BYTES;
	osnoise_init(&s->osnoise);
	rv_init(&s->rv);
	cpumask_all(&s->cpumask);
	options_set_mode(s, BUFFER_STREAM);
}

void settings_init_tree(struct settings *s)
{
	settings_init(s);
	s->tracer = &tracer_nop;
	s->events.waits = false;
	/* Only the tree runs function commands. */
	s->takes_commands = true;
	s->buffer_size_kb = BUFFER_SIZE_KB_KEPT;
	s->clock = TRACE_CLOCK_LOCAL;
	options_set_mode(s, BUFFER_OVERWRITE);
}

/* A deep copy: both are to be freed. */
void settings_copy(struct settings *to, const struct settings *from)
{
	/* Plain values; everything with memory of its own is copied again below. */
	*to = *from;
	function_list_copy(&to->filter, &from->filter);
	function_list_copy(&to->stack_filter, &from->stack_filter);
	function_list_copy(&to->notrace, &from->notrace);
	function_list_copy(&to->graph_function, &from->graph_function);
	function_list_copy(&to->graph_notrace, &from->graph_notrace);
	function_list_copy(&to->modules, &from->modules);
	function_list_copy(&to->args, &from->args);
	function_list_copy(&to->retval, &from->retval);
	function_list_copy(&to->judged, &from->judged);
	function_commands_copy(&to->commands, &from->commands);
	event_scopes_copy(&to->scopes, &from->scopes);
	event_set_copy(&to->events, &from->events);
	pid_list_copy(&to->pids, &from->pids);
	pid_list_copy(&to->notrace_pids, &from->notrace_pids);
	pid_list_copy(&to->event_pids, &from->event_pids);
	pid_list_copy(&to->event_notrace_pids, &from->event_notrace_pids);
	/* A vector: its memory is still that of `from`. */
	memset(&to->cpu_size_kb, 0, sizeof(to->cpu_size_kb));
	for (size_t i = 0; i < from->cpu_size_kb.n; i++)
		*vec_add(&to->cpu_size_kb) = from->cpu_size_kb.at[i];
}

/* Leaves *s unfit for use: settings_init() or settings_copy() fills it again. */
void settings_free(struct settings *s)
{
	function_list_free(&s->filter);
	function_list_free(&s->stack_filter);
	function_list_free(&s->notrace);
	function_list_free(&s->graph_function);
	function_list_free(&s->graph_notrace);
	function_list_free(&s->modules);
	function_list_free(&s->args);
	function_list_free(&s->retval);
	function_list_free(&s->judged);
	function_commands_free(&s->commands);
	event_scopes_free(&s->scopes);
	event_set_free(&s->events);
	pid_list_free(&s->pids);
	pid_list_free(&s->notrace_pids);
	pid_list_free(&s->event_pids);
	pid_list_free(&s->event_notrace_pids);
	vec_free(&s->cpu_size_kb);
}
