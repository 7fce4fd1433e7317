/* SPDX-License-Identifier: MIT */
/* The table of ftrace's files and the operations of those that have no file of their own. A setting
 * of model/settings.c becomes a file by its row; README is printed from the same table. Operations
 * run on FUSE's worker threads or a command's thread, several at once; in->lock protects settings,
 * instance_lock keeps the target. A write that is wrong is -errno, with a sentence in error_log. */
#include "tree/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "report/printer.h"
#include "tree/instance_internal.h"

#define MARKER_MAX 4096 /* bytes that one write to trace_marker takes */
#define MARKER_ID 4     /* bytes of the id in trace_marker_raw */

/* The owner is the instance's first member (instance_internal.h), hence the cast. */
static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

/* --- settings ----------------------------------------------------------------------- */

/* Whether records can change the setting: by triggers, or a latency tracer. */
static bool can_be_turned(const char *file)
{
	return !strcmp(file, "tracing_on") || !strcmp(file, "tracing_max_latency");
}

/* f->arg is the file's name, by which the settings find its row. */
static int show_setting(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	char *value;

	if (can_be_turned(f->arg))
		instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	instance_show_printk(in);
	value = settings_read(&in->settings, f->arg);
	pthread_mutex_unlock(&in->lock);
	if (!value)
		return err_set(err, ENOENT, "there is no setting %s", (const char *)f->arg);
	out_str(text, value);
	free(value);
	return 0;
}

/* A file that was not opened with `>` is appended to. Triggers that concern records from before the
 * write have to switch tracing_on first, else they would undo it. A latency counts likewise. */
static ssize_t write_setting(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	int e;

	if (can_be_turned(f->arg))
		instance_catch_up(instance_of(f));
	e = instance_write(instance_of(f), f->arg, text, !(f->flags & O_TRUNC), err);
	return e ? e : (ssize_t)n;
}

/* Operations of rows whose content is one setting. Without `write` open.c refuses every write. */
static const struct tree_file_ops setting = { .show = show_setting, .write = write_setting };
static const struct tree_file_ops fixed_setting = { .show = show_setting };

/* A list that the file's opening empties. */
static int empty_setting(struct tree_file *f, struct err *err)
{
	return instance_write(instance_of(f), f->arg, "", false, err);
}

static const struct tree_file_ops list_setting = {
	.show = show_setting, .truncate = empty_setting, .write = write_setting,
};

/* --- error_log ---------------------------------------------------------------------- */

/* in->lock is not needed: the log has a lock of its own (error_log.c). */
static int show_errors(struct tree_file *f, struct out *text, struct err *err)
{
	error_log_show(&instance_of(f)->errors, text);
	return 0;
}

static int clear_errors(struct tree_file *f, struct err *err)
{
	error_log_clear(&instance_of(f)->errors);
	return 0;
}

/* Accepts any write: it is O_TRUNC that clears. */
static ssize_t take_any(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return (ssize_t)n;
}

static const struct tree_file_ops error_log = {
	.show = show_errors, .truncate = clear_errors, .write = take_any,
};

/* --- trace -------------------------------------------------------------------------- */

/* The header needs no session, only a trace_info of this machine. */
void files_show_empty_trace(const struct settings *s, struct out *text)
{
	struct trace_info *info = trace_info_new();
	const struct trace_header none = { .empty = true };
	struct printer printer;

	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->tracer = mem_strdup(s->tracer->name);
	printer_open(&printer, info, s->options, text);
	printer_header(&printer, &none);
	printer_close(&printer);
	trace_info_free(info);
}

/* Without a program there is nothing to print, yet a reader expects the header. */
static int show_trace(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct settings s;
	struct tree_target t;
	int e = 0;

	/* A copy of the settings: printing is slow, and writes must not wait. */
	instance_settings(in, &s);
	t = instance_lock(in);
	if (t.ops->trace)
		e = t.ops->trace(t.arg, &s, text, err);
	else
		files_show_empty_trace(&s, text);
	instance_unlock(in);
	settings_free(&s);
	return e;
}

/* in->lock comes first: a change of settings must not run beside the target's `clear`
 * (target.h). */
static int clear_trace(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	int e;

	pthread_mutex_lock(&in->lock);
	t = instance_lock(in);
	e = t.ops->clear ? t.ops->clear(t.arg, err) : 0;
	instance_unlock(in);
	pthread_mutex_unlock(&in->lock);
	return e;
}

/* Pauses recording while the file is read, if pause-on-trace is set. */
int files_trace_open(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;

	if ((f->flags & O_ACCMODE) == O_WRONLY || !instance_option(in, OPTION_PAUSE_ON_TRACE))
		return 0;
	t = instance_lock(in);
	if (t.ops->pause) {
		t.ops->pause(t.arg, true);
		f->state = in;
	}
	instance_unlock(in);
	return 0;
}

/* Ends the pause that files_trace_open() has begun, even if pause-on-trace was turned off since.
 * Without one f->state is NULL. */
void files_trace_release(struct tree_file *f)
{
	struct instance *in = f->state;
	struct tree_target t;

	if (!in)
		return;
	t = instance_lock(in);
	if (t.ops->pause)
		t.ops->pause(t.arg, false);
	instance_unlock(in);
}

static const struct tree_file_ops trace = { .open = files_trace_open,
					    .show = show_trace,
					    .grows = true,
					    .truncate = clear_trace,
					    .write = take_any,
					    .release = files_trace_release };

/* Turns "nothing now" into the end of the file for a reader that waits and has read something, once
 * recording is off and nothing is left, as in ftrace. */
ssize_t instance_pipe_end(struct tree_file *f, struct tree_target t, unsigned cpu, ssize_t got,
			  char *buf, size_t n, struct err *err)
{
	if (got == -EAGAIN && f->state && !(f->flags & O_NONBLOCK) && t.ops->pipe_rest)
		got = t.ops->pipe_rest(t.arg, cpu, buf, n, err);
	if (got > 0)
		f->state = instance_of(f); /* something was read: any pointer would do */
	return got;
}

/* Without a target there is nothing yet, which is -EAGAIN and not the end: a session may still be
 * attached. */
static ssize_t stream_pipe(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	ssize_t got = t.ops->pipe ? t.ops->pipe(t.arg, buf, n, err) : -EAGAIN;

	got = instance_pipe_end(f, t, UINT_MAX, got, buf, n, err);
	instance_unlock(in);
	return got;
}

/* For poll(2): asks the target without consuming anything. */
static bool pipe_ready(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	bool ready = t.ops->pipe_ready && t.ops->pipe_ready(t.arg);

	instance_unlock(in);
	return ready;
}

/* A target may wait for the reader (instance_is_piped()), from here to the close; not for one that
 * it traces, which may itself wait for room for its records. */
static int open_pipe(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	const bool traced = t.ops->traces && t.ops->traces(t.arg, f->thread);

	instance_unlock(in);
	atomic_store_explicit(&in->piped, !traced, memory_order_relaxed);
	return 0;
}

static void release_pipe(struct tree_file *f)
{
	atomic_store_explicit(&instance_of(f)->piped, false, memory_order_relaxed);
}

static const struct tree_file_ops trace_pipe = { .open = open_pipe,
						 .stream = stream_pipe,
						 .ready = pipe_ready,
						 .release = release_pipe,
						 .exclusive = true };

/* --- markers ------------------------------------------------------------------------ */

/* Gives the bytes to the target, in the name of the thread that wrote. Without a target they are
 * taken and dropped. */
static int marker(struct tree_file *f, const char *text, size_t n, bool raw, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	int e;

	if (!instance_option(in, OPTION_MARKERS))
		return err_set(err, EINVAL, "the option markers is off");
	t = instance_lock(in);
	e = t.ops->marker ? t.ops->marker(t.arg, f->thread, text, n, raw, err) : 0;
	instance_unlock(in);
	return e;
}

static ssize_t write_marker(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	/* The kernel's limit for one write; the writer continues with the rest. */
	size_t taken = n > MARKER_MAX ? MARKER_MAX : n;
	int e = marker(f, text, taken, false, err);

	return e ? e : (ssize_t)taken;
}

/* A raw marker is one record: it cannot be continued by a second write, so that a longer one is
 * refused and not cut. */
static ssize_t write_raw_marker(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	int e;

	if (n < MARKER_ID || n > MARKER_MAX)
		return err_set(err, EINVAL,
			       "a raw marker has %d to %d bytes, of which the first %d are its id",
			       MARKER_ID, MARKER_MAX, MARKER_ID);
	e = marker(f, text, n, true, err);
	return e ? e : (ssize_t)n;
}

static const struct tree_file_ops trace_marker = { .write = write_marker };
static const struct tree_file_ops trace_marker_raw = { .write = write_raw_marker };

/* --- kallsyms ----------------------------------------------------------------------- */

/* trace-cmd reads this text for the names of functions when it records from the raw files. Without
 * a target it is empty. */
static int show_symbols(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	if (t.ops->symbols)
		t.ops->symbols(t.arg, text);
	if (t.ops->variables)
		t.ops->variables(t.arg, text);
	instance_unlock(in);
	return 0;
}

static const struct tree_file_ops kallsyms = { .show = show_symbols };

/* --- the table ---------------------------------------------------------------------- */

static int show_readme(struct tree_file *f, struct out *text, struct err *err);
static const struct tree_file_ops readme = { .show = show_readme };

/* The directories that have the file. */
enum where { EVERYWHERE, TOP };

/* Rows of the common kinds: lists of functions (function_files.c), lists of threads
 * (event_files.c), and settings. */
#define FUNCTIONS(name, where, help) { name, 0640, where, &function_list_file, help }
#define PIDS(name, help) { name, 0640, EVERYWHERE, &pid_list_file, help }
#define SETTING(name, where, help) { name, 0640, where, &setting, help }

/* Every file of an instance's own directory. files_fill() makes them in this order, which is the
 * one that `ls -U` shows. `help` is the file's line in README. Rows with TOP are not in
 * instances/NAME. */
static const struct file_row {
	const char *name;
	mode_t mode;
	enum where where;
	const struct tree_file_ops *ops;
	const char *help;
} files[] = {
	{ "README", 0440, TOP, &readme, "this text" },
	{ "available_events", 0440, TOP, &available_events_file,
	  "every event there is, SYSTEM:EVENT" },
	{ "available_filter_functions", 0440, TOP, &all_functions_file,
	  "every function that can be traced" },
	{ "available_filter_functions_addrs", 0440, TOP, &all_addresses_file,
	  "the same with their addresses, as kallsyms has them" },
	{ "available_tracers", 0440, EVERYWHERE, &fixed_setting,
	  "names that current_tracer takes" },
	SETTING("buffer_percent", EVERYWHERE,
		"how full (%) the buffer is before a reader that waits is woken"),
	SETTING("buffer_size_kb", EVERYWHERE,
		"buffer of each CPU, in kilobytes; 4M and the like are taken too"),
	SETTING("buffer_subbuf_size_kb", EVERYWHERE,
		"what trace_pipe_raw gives at once, in kilobytes: 4, 8, ... 512"),
	{ "buffer_total_size_kb", 0440, EVERYWHERE, &buffer_total_file,
	  "all buffers, in kilobytes" },
	SETTING("current_tracer", EVERYWHERE, "what is recorded of functions; nop: nothing"),
	{ "dump", 0440, EVERYWHERE, &dump_file,
	  "what the commands dump and cpudump printed last (brace's own: the kernel's is on the console)" },
	{ "dyn_ftrace_total_info", 0440, TOP, &total_functions_file,
	  "how many functions can be traced" },
	{ "dynamic_events", 0640, TOP, &dynamic_events_file,
	  "events that were defined; p:NAME PATH:OFFSET ARGS or s:NAME TYPE FIELD; ... defines one, -:NAME removes it" },
	{ "enabled_functions", 0440, TOP, &hooked_functions_file, "functions that are hooked now" },
	{ "error_log", 0640, EVERYWHERE, &error_log,
	  "the last writes that failed, and why; `> error_log` clears it" },
	{ "free_buffer", 0200, EVERYWHERE, &free_buffer_file,
	  "closing it clears the trace, with disable_on_free it ends recording" },
	{ "function_profile_enabled", 0640, TOP, &function_profile_file,
	  "1: calls and times of each function are counted, for trace_stat" },
	{ "kallsyms", 0444, TOP, &kallsyms,
	  "addresses of functions, as records have them, and of variables (brace's own: /proc/kallsyms is not here)" },
	{ "last_boot_info", 0444, EVERYWHERE, &last_boot_file,
	  "# Current; or where the programs of the session before were, whose records a ring kept" },
	{ "kprobe_events", 0640, TOP, &kprobe_events_file,
	  "events at a function of the programs: p:NAME FUNCTION ARGS" },
	{ "kprobe_profile", 0440, TOP, &kprobe_profile_file,
	  "how often each event of kprobe_events was recorded, and missed" },
	SETTING("max_graph_depth", TOP,
		"how many levels deep function_graph follows calls; 0: no limit"),
	{ "printk_formats", 0440, TOP, &printk_formats_file,
	  "formats of trace_printk; programs have none" },
	{ "saved_cmdlines", 0440, TOP, &saved_cmdlines_file, "names of threads, by their ids" },
	SETTING("saved_cmdlines_size", TOP, "how many names are kept at least"),
	{ "saved_tgids", 0440, TOP, &saved_tgids_file, "processes of threads, by their ids" },
	{ "set_event", 0640, EVERYWHERE, &set_event_file,
	  "events that are recorded: SYSTEM:EVENT, SYSTEM:*, EVENT; >> adds, "
	  "!NAME removes, * is a glob" },
	PIDS("set_event_notrace_pid", "threads whose events are not recorded"),
	PIDS("set_event_pid", "threads whose events are recorded; empty: all"),
	/* written word by word, as lists of threads are */
	{ "set_event_scope", 0640, EVERYWHERE, &pid_list_file,
	  "functions: events are recorded only while a call of one is open on their thread; "
	  "FUNCTION:DEPTH: so many levels of calls down; empty: everywhere" },
	SETTING("set_ftrace_args_depth", TOP,
		"1: of structures behind pointers the arguments' members, too"),
	FUNCTIONS("set_ftrace_args", TOP,
		  "functions whose arguments funcgraph-args and func-args record; empty: all"),
	FUNCTIONS("set_ftrace_filter", EVERYWHERE,
		  "functions that are traced; empty: all. >> adds, !NAME removes, "
		  "NAME:mod:MODULE is of one module; accepts: a name or glob-matching-pattern"),
	FUNCTIONS("set_ftrace_module", TOP,
		  "libraries whose functions are traced too, besides those of the program"),
	FUNCTIONS("set_ftrace_notrace", EVERYWHERE,
		  "functions that are not traced, whatever set_ftrace_filter says"),
	PIDS("set_ftrace_notrace_pid", "threads whose functions are not recorded"),
	PIDS("set_ftrace_pid", "threads whose functions are recorded; empty: all"),
	FUNCTIONS("set_ftrace_retval", TOP,
		  "functions whose returned values funcgraph-retval shows by their types; empty: "
		  "all values are hexadecimal"),
	FUNCTIONS("set_graph_function", TOP, "function_graph: only these and what they call"),
	FUNCTIONS("set_graph_notrace", TOP,
		  "function_graph: not these, and nothing that they call"),
	{ "show_event_filters", 0440, EVERYWHERE, &all_filters_file,
	  "every event that has a filter, and the filter" },
	{ "show_event_triggers", 0440, EVERYWHERE, &all_triggers_file,
	  "every event that has triggers, a line for each" },
	{ "snapshot", 0640, EVERYWHERE, &snapshot_file,
	  "1: what was recorded so far goes here, 0: frees it, 2: clears it" },
	{ "stack_max_size", 0640, TOP, &stack_max_file,
	  "bytes of the deepest stack; 0 written to it forgets what was found" },
	{ "stack_trace", 0440, TOP, &stack_trace_file,
	  "the deepest stack of each thread, and by which calls" },
	FUNCTIONS("stack_trace_filter", TOP,
		  "functions at whose calls stacks are looked at; empty: all"),
	{ "stack_tracer_enabled", 0640, TOP, &stack_enabled_file,
	  "1: how deep stacks become is watched (brace's own: "
	  "/proc/sys/kernel/stack_tracer_enabled)" },
	{ "synthetic_events", 0640, TOP, &synthetic_events_file,
	  "events that histograms make; NAME TYPE FIELD; ... defines one, !NAME removes it" },
	SETTING("syscall_user_buf_size", EVERYWHERE,
		"how much is copied of each string and buffer that a system call is given, "
		"in bytes; 0: nothing"),
	{ "timestamp_mode", 0440, EVERYWHERE, &timestamp_mode_file,
	  "how times are kept in trace_pipe_raw" },
	{ "touched_functions", 0440, TOP, &hooked_functions_file,
	  "functions that were hooked at any time" },
	{ "trace", 0640, EVERYWHERE, &trace, "what was recorded, as text; `> trace` clears it" },
	SETTING("trace_clock", EVERYWHERE, "the clock of the times that are shown"),
	{ "trace_marker", 0220, EVERYWHERE, &trace_marker,
	  "text written here is put into the trace" },
	{ "trace_marker_raw", 0220, EVERYWHERE, &trace_marker_raw,
	  "the same for bytes: an id of 4 bytes and data" },
	SETTING("trace_options", EVERYWHERE,
		"all options; NAME turns one on, noNAME off (see also options/)"),
	{ "trace_pipe", 0440, EVERYWHERE, &trace_pipe,
	  "what is recorded, as it comes; what was read is gone" },
	SETTING("tracing_cpumask", EVERYWHERE, "processors whose records are kept, in hexadecimal"),
	SETTING("tracing_max_latency", EVERYWHERE, "longest latency seen, in microseconds"),
	SETTING("tracing_on", EVERYWHERE, "1: recording, 0: not"),
	SETTING("tracing_thresh", TOP,
		"only calls at least so many microseconds long are recorded; 0: all"),
	{ "uprobe_events", 0640, TOP, &uprobe_events_file,
	  "events at an instruction of a file: p:NAME PATH:OFFSET ARGS" },
	{ "uprobe_profile", 0440, TOP, &uprobe_profile_file,
	  "how often each event of uprobe_events was recorded" },
	{ "user_events_data", 0640, TOP, &user_events_data_file,
	  "programs register events here (ioctl), and write their records" },
	{ "user_events_status", 0440, TOP, &user_events_status_file,
	  "events that programs have registered, and which are recorded" },
};

/* README's lines for directories. The code makes each of them by itself (files_fill). */
static const char *const directories[][2] = {
	{ "events/", "a directory for each system and event: enable, filter, trigger, format, id" },
	{ "per_cpu/", "trace, trace_pipe, trace_pipe_raw, stats of what ran on each processor" },
	{ "trace_stat/", "functionN: what function_profile_enabled has counted on processor N" },
	{ "osnoise/", "how the tracers osnoise and timerlat measure: on which processors, how long, when to stop" },
	{ "hwlat_detector/", "how the tracer hwlat measures: for how long, how often, on which processors" },
	{ "rv/", "monitors of programs: enabled_monitors, what each finds (events rv:*), what follows (reactors)" },
	{ "options/", "a file for each option: 0 or 1" },
	{ "instances/", "mkdir makes a buffer with settings of its own, rmdir removes it" },
};

/* 26 columns hold available_filter_functions: all texts but that of the row behind it begin in one
 * column. */
static int show_readme(struct tree_file *f, struct out *text, struct err *err)
{
	out_str(text,
		"brace: ftrace's files over user-space programs. Use them with cat, echo, mkdir and rmdir.\n\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		out_printf(text, "  %-26s %s\n", files[i].name, files[i].help);
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		out_printf(text, "  %-26s %s\n", directories[i][0], directories[i][1]);
	readme_show_grammar(text);
	return 0;
}

/* Whether the option concerns all instances; such options are in the top directory only. */
static bool of_all(enum trace_option o)
{
	return o == OPTION_PRINTK_MSG_ONLY || o == OPTION_RECORD_CMD || o == OPTION_TRACE_PRINTK;
}

/* The X macro gives each file the name that settings know it by: "options/NAME" stands in the
 * program's own memory, because f->arg must outlive the node. */
static void fill_options(struct tree_node *dir, bool top)
{
	static const char *const names[TRACE_OPTIONS_N] = {
#define X(id, name, group, on, reach) "options/" name,
		TRACE_OPTIONS(X)
#undef X
	};
	struct tree_node *options = tree_dir(dir, "options", 0750, NULL);

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (top || !of_all(o))
			tree_file(options, option_info(o)->name, 0640, &setting, names[o]);
}

/* By the names that settings know them by. */
static void fill_measuring(struct tree_node *dir, const char *name)
{
	struct tree_node *of = tree_dir(dir, name, 0750, NULL);
	size_t n = strlen(name);

	for (unsigned i = 0; settings_file(i); i++)
		if (!strncmp(settings_file(i), name, n) && settings_file(i)[n] == '/')
			tree_file(of, settings_file(i) + n + 1, 0640, &setting, settings_file(i));
}

/* rv/ and what is below it, by the paths that settings know them by. */
static void fill_monitors(struct tree_node *dir)
{
	static const char below[] = "rv/";
	struct tree_node *rv = tree_dir(dir, "rv", 0750, NULL);
	struct tree_node *all = tree_dir(rv, "monitors", 0750, NULL), *of[RV_MONITORS_N];

	for (unsigned m = 0; m < RV_MONITORS_N; m++)
		of[m] = tree_dir(all, rv_name(m), 0750, NULL);
	for (unsigned i = 0; settings_file(i); i++) {
		const char *path = settings_file(i), *name = strrchr(path, '/');
		struct tree_node *to = rv;

		if (strncmp(path, below, sizeof(below) - 1) != 0)
			continue;
		for (unsigned m = 0; m < RV_MONITORS_N; m++)
			if (rv_is_of(path, m))
				to = of[m];
		if (!strcmp(name, "/enabled_monitors"))
			tree_file(to, name + 1, 0640, &list_setting, path);
		else if (settings_can_write(path))
			tree_file(to, name + 1, 0640, &setting, path);
		else
			tree_file(to, name + 1, 0440, &fixed_setting, path);
	}
}

/* Some files are the top's alone, as in the kernel: instances have no saved_cmdlines of their
 * own, and no instances. */
void files_fill(struct instance *in, struct tree_node *dir, bool top)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct tree_node *n;

		if (files[i].where == TOP && !top)
			continue;
		n = tree_file(dir, files[i].name, files[i].mode, files[i].ops, files[i].name);
		if (files[i].ops == &trace_pipe)
			/* instance_wake and per_cpu/ need it. */
			in->pipe = n;
	}
	event_files_fill(in, dir);
	buffer_files_fill(in, dir);
	fill_options(dir, top);
	if (!top)
		return;
	profile_files_fill(dir);
	fill_measuring(dir, "osnoise");
	fill_measuring(dir, "hwlat_detector");
	fill_monitors(dir);
	tree_dir(dir, "instances", 0750, &instances_ops);
}
