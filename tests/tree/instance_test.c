/* ftrace's directory without FUSE: against what a running kernel showed and answered. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/probe_command.h"
#include "golden.h"
#include "golden_events.h"
#include "image/dynamic_probes.h"
#include "model/tracer.h"
#include "tree/instance.h"

static struct tree *t;

static int setup(void **state)
{
	t = instance_tree_new();
	return 0;
}

static int teardown(void **state)
{
	instance_tree_free(t);
	return 0;
}

static void shows(const char *path, const char *want)
{
	golden_shows(t, path, want);
}

static void shows_golden(const char *path, const char *name)
{
	char *want = golden(name);

	shows(path, want);
	free(want);
}

static int echo(const char *path, const char *text)
{
	return tree_echo(t, path, text, false, NULL);
}

static void cut(char *text, const char *line)
{
	char *at = strstr(text, line);

	assert_non_null(at);
	memmove(at, at + strlen(line), strlen(at + strlen(line)) + 1);
}

/* Linux 7.2 has three options more, of things that there are none of here; graph-time is a common
 * one there. causal-order is brace's own. */
static void options_after_boot(void)
{
	char *want = golden("k7.2-own.init.trace_options.txt"), *got;

	cut(want, "nobitmask-list\n");
	cut(want, "noprof-text-offset\n");
	cut(want, "graph-time\n");
	got = tree_cat(t, "trace_options", NULL);
	cut(got, "nocausal-order\n");
	assert_string_equal(got, want);
	free(got);
	free(want);
}

/* 6.12's, and those since then. */
static void options_of_the_graph(void)
{
	char *got = tree_cat(t, "trace_options", NULL), *want = golden("k6.12-own.trace_options.function_graph.txt");

	cut(got, "copy_trace_marker\n");
	cut(got, "nofuncgraph-retaddr\n");
	cut(got, "nofuncgraph-args\n");
	cut(got, "nocausal-order\n");
	assert_string_equal(got, want);
	free(got);
	free(want);
}

/* --- as the kernel ------------------------------------------------------------------ */

static void as_after_boot(void **state)
{
	static const char *const same[] = {
		"current_tracer", "tracing_on", "tracing_thresh", "tracing_max_latency", "trace_clock",
		"error_log", "buffer_percent", "max_graph_depth", "snapshot", "timestamp_mode", "saved_cmdlines_size",
		"enabled_functions", "touched_functions", "function_profile_enabled", "stack_trace", "stack_max_size", "stack_trace_filter",
	};
	char *tracers = tracer_names(), *names;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		char *name = mem_printf("k6.12-own.init.%s.txt", same[i]);

		shows_golden(same[i], name);
		free(name);
	}
	options_after_boot();
	shows_golden("options/overwrite", "k6.12-own.init.options.overwrite.txt");
	shows_golden("options/funcgraph-irqs", "k6.12-own.init.options.funcgraph-irqs.txt");
	names = mem_printf("%s\n", tracers);
	shows("available_tracers", names);
	free(names);
	free(tracers);
}

/* The golden file's machine had two processors. */
static void an_empty_trace(void **state)
{
	char *want = golden("k6.12-own.init.trace.txt"), *at = strstr(want, "#P:2\n"), *text;

	text = mem_printf("%.*s#P:%ld\n%s", (int)(at - want), want, sysconf(_SC_NPROCESSORS_ONLN), at + strlen("#P:2\n"));
	shows("trace", text);
	free(text);
	free(want);
	assert_int_equal(echo("current_tracer", "function_graph"), 0);
	shows("trace", "# tracer: function_graph\n#\n"
		       "# CPU  DURATION                  FUNCTION CALLS\n"
		       "# |     |   |                     |   |   |   |\n");
}

/* Of one processor: as of all, and counts with the kernel's words. */
static void per_cpu(void **state)
{
	char *all = tree_cat(t, "trace", NULL), *want = golden("k6.12-own.init.per_cpu.cpu0.stats.txt");
	char *got = tree_cat(t, "per_cpu/cpu0/stats", NULL), *kb;

	shows("per_cpu/cpu0/trace", all);
	assert_int_equal(echo("per_cpu/cpu0/trace", ""), 0);
	strstr(want, "now ts:")[0] = strstr(got, "now ts:")[0] = '\0';
	assert_string_equal(got, want);
	assert_int_equal(echo("buffer_size_kb", "100"), 0);
	shows("per_cpu/cpu0/buffer_size_kb", "100\n");
	kb = mem_printf("%ld\n", 100 * sysconf(_SC_NPROCESSORS_CONF));
	shows("buffer_total_size_kb", kb);
	if (sysconf(_SC_NPROCESSORS_CONF) > 1) {
		assert_int_equal(echo("per_cpu/cpu1/buffer_size_kb", "7"), 0);
		assert_int_equal(echo("per_cpu/cpu1/buffer_size_kb", "none"), -EINVAL);
		shows("per_cpu/cpu0/buffer_size_kb", "100\n");
		shows("per_cpu/cpu1/buffer_size_kb", "7\n");
		shows("buffer_size_kb", "X\n");
		free(kb);
		kb = mem_printf("%ld\n", 100 * sysconf(_SC_NPROCESSORS_CONF) - 93);
		shows("buffer_total_size_kb", kb);
		assert_int_equal(echo("buffer_size_kb", "100"), 0);
		shows("per_cpu/cpu1/buffer_size_kb", "100\n");
		shows("buffer_size_kb", "100\n");
	}
	shows("per_cpu/cpu0/trace_pipe", "");
	shows("per_cpu/cpu0/trace_pipe_raw", "");
	assert_int_equal(echo("per_cpu/cpu0/stats", "x"), -EINVAL);
	free(kb);
	free(got);
	free(want);
	free(all);
}

static void snapshots(void **state)
{
	assert_int_equal(echo("snapshot", "1"), 0);
	shows_golden("snapshot", "k6.12-own.snapshot.after-echo-2.txt"); /* it is empty */
	assert_int_equal(echo("snapshot", "2"), 0);
	shows_golden("snapshot", "k6.12-own.snapshot.after-echo-2.txt");
	assert_int_equal(echo("snapshot", "x"), -EINVAL);
	assert_int_equal(echo("snapshot", "0"), 0);
	shows_golden("snapshot", "k6.12-own.snapshot.after-echo-0.txt");
}

/* Closing free_buffer says that the records are of no use any more. */
static void freeing(void **state)
{
	assert_int_equal(echo("free_buffer", "x"), 0);
	shows("tracing_on", "1\n");
	assert_int_equal(echo("options/disable_on_free", "1"), 0);
	assert_int_equal(echo("free_buffer", "x"), 0);
	shows("tracing_on", "0\n");
}

static void clock_and_options_of_a_tracer(void **state)
{
	assert_int_equal(echo("trace_clock", "counter"), 0);
	shows_golden("trace_clock", "k6.12-own.trace_clock.counter-selected.txt");
	assert_int_equal(echo("current_tracer", "function_graph"), 0);
	/* the kernel's machine had it on */
	assert_int_equal(echo("trace_options", "funcgraph-proc"), 0);
	options_of_the_graph();
}

static bool has_line(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
		if (!strncmp(line, word, n) && (line[n] == '\n' || (line[n] == '/' && line[n + 1] == '\n')))
			return true;
	return false;
}

static bool is_own(const char *name)
{
	return !strcmp(name, "set_ftrace_module") || !strcmp(name, "set_ftrace_args") ||
	       !strcmp(name, "set_ftrace_retval") || !strcmp(name, "set_event_scope") ||
	       !strcmp(name, "set_ftrace_args_depth") || !strcmp(name, "kallsyms") || !strcmp(name, "dump") ||
	       !strcmp(name, "stack_tracer_enabled") || !strcmp(name, "last_boot_info") || !strcmp(name, "causal-order");
}

/* Linux 7.2's list of the names that 6.12 has a list of; free() it. */
static char *newer(const char *name)
{
	char *file = mem_printf("k7.2-own%s", name + strlen("k6.12-own")), *list = golden(file);

	free(file);
	return list;
}

/* Everything listed here is in the list of 6.12 or 7.2, or brace's own, and if `all`, 6.12's is
 * here but for `except`. */
static void lists(const char *path, const char *name, bool all, const char *except)
{
	char *want = golden(name), *latest = newer(name);
	struct tree_node *dir = tree_find(t, path);
	struct tree_list l;
	size_t lines = 0, since = 0;

	tree_list(dir, &l);
	tree_put(dir);
	for (size_t i = 0; i < l.entries.n; i++) {
		if (has_line(want, l.entries.at[i].name))
			continue;
		if (!has_line(latest, l.entries.at[i].name) && !is_own(l.entries.at[i].name))
			fail_msg("the kernel has no %s/%s", path, l.entries.at[i].name);
		since++;
	}
	for (const char *p = want; *p; p++)
		lines += *p == '\n';
	if (all)
		assert_int_equal(l.entries.n - since, lines - (except && has_line(want, except)));
	tree_list_free(&l);
	free(want);
	free(latest);
}

static void names_as_the_kernel(void **state)
{
	struct tree_node *dir = tree_find(t, "instances");

	assert_int_equal(tree_mkdir(dir, "foo", NULL), 0);
	tree_put(dir);
	lists("", "k6.12-own.ls-root.txt", false, NULL);
	lists("options", "k6.12-own.ls-options.txt", true, "blk_classic"); /* of a tracer of block devices */
	lists("instances/foo", "k6.12-own.instance.ls.txt", false, NULL);
	lists("per_cpu/cpu0", "k6.12-own.ls-per_cpu-cpu0.txt", false, NULL);
	lists("instances/foo/options", "k6.12-own.instance.ls-options.txt", true, NULL);
}

/* The table's head; and nothing is counted without a program. */
static void profile_without_a_program(void **state)
{
	char *want = golden("../../report/golden/k6.12-own.trace_stat.function0.graph-time.txt");
	const char *rows = strstr(want, "  vfs_open");

	assert_non_null(rows);
	want[rows - want] = '\0';
	shows("trace_stat/function0", want);
	free(want);
	assert_int_equal(echo("function_profile_enabled", "1"), -ENODEV);
	assert_int_equal(echo("function_profile_enabled", "x"), -EINVAL);
	assert_int_equal(echo("function_profile_enabled", "0"), 0);
	shows("function_profile_enabled", "0\n");
	assert_int_equal(echo("stack_tracer_enabled", "1"), -ENODEV);
	assert_int_equal(echo("stack_tracer_enabled", "0"), 0);
	assert_int_equal(echo("stack_max_size", "x"), -EINVAL);
	assert_int_equal(echo("stack_max_size", "0"), 0);
}

/* --- golden results of single writes: FLAG FILE: open ok; write "TEXT" (N) -> RESULT; ... close ok
 * ---- */

static const struct errno_name { const char *name; int code; } errnos[] = {
	{ "EINVAL", EINVAL }, { "ENOMEM", ENOMEM }, { "EOVERFLOW", EOVERFLOW }, { "EBUSY", EBUSY }, { "EEXIST", EEXIST },
	{ "ENOENT", ENOENT },
};

static ssize_t result_named(const char *text)
{
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (!strncmp(text, errnos[i].name, strlen(errnos[i].name)))
			return -errnos[i].code;
	return atoi(text);
}

static unsigned do_writes(struct tree_open *o, const char *path, const char *at)
{
	unsigned n = 0;

	for (; !strncmp(at, "write \"", 7); n++) {
		const char *text = at + 7, *end = strstr(text, "\" (");
		const char *result = strstr(end, "-> ") + 3;
		ssize_t got = tree_write(o, 0, text, (size_t)(end - text), NULL);

		if (got != result_named(result))
			fail_msg("%s: %.*s gave %zd", path, (int)(end - text), text, got);
		at = strstr(result, "; ") + 2;
	}
	return n;
}

static unsigned do_line(const char *line)
{
	char path[64];
	struct tree_node *n;
	struct tree_open *o;
	unsigned writes;

	/* Numbers of processors differ: cpumasks() has them. Without a program there are no
	 * functions. */
	if (sscanf(line + 2, "%63[^:]: open ok; ", path) != 1 || !strncmp(path, "tracing_cpumask", 15) || !strcmp(path, "kprobe_events"))
		return 0;
	n = tree_find(t, path);
	if (!n)
		return 0;
	assert_int_equal(tree_open(n, O_WRONLY | (*line == 't' ? O_TRUNC : *line == 'a' ? O_APPEND : 0), 0, 0, &o, NULL), 0);
	writes = do_writes(o, path, strstr(line, "open ok; ") + 9);
	tree_close(o);
	tree_put(n);
	return writes;
}

static unsigned replay(const char *name)
{
	char *text = golden(name);
	unsigned n = 0;

	for (char *line = text; line && *line; line = strstr(line, "close ok\n"), line += line ? 9 : 0) {
		while (strncmp(line + 1, " ", 1) || !strchr("taw", *line))
			line = strchr(line, '\n') + 1;
		n += do_line(line);
		if (!strstr(line, "close ok\n"))
			break;
	}
	free(text);
	return n;
}

static void writes_as_on_the_kernel(void **state)
{
	golden_events(t);
	assert_true(replay("k6.12-own.write-results.txt") >= 65);
}

static void writes_as_on_a_later_kernel(void **state)
{
	golden_events(t);
	assert_true(replay("k7.2-own.write-results.txt") >= 65);
}

/* --- error_log ---------------------------------------------------------------------- */

/* The log without times, which differ. */
static char *errors(const char *path)
{
	char *text = tree_cat(t, path, NULL), *to = text;

	for (char *p = text; *p; p++) {
		if (*p == '[' && strchr(p, ']'))
			p = strchr(p, ']') + 1; /* at the blank */
		else
			*to++ = *p;
	}
	*to = '\0';
	return text;
}

static void logs(const char *path, const char *want)
{
	char *got = errors(path);

	assert_string_equal(got, want);
	free(got);
}

static void refusals_are_logged(void **state)
{
	assert_int_equal(echo("trace_options", "funcgraph-cpu  nosuch"), -EINVAL);
	logs("error_log", "trace_options: error: unknown option\n"
			  "  Command: funcgraph-cpu  nosuch\n"
			  "                          ^\n");
	assert_int_equal(echo("error_log", ""), 0);
	logs("error_log", "");
	assert_int_equal(echo("options/overwrite", "2"), -EINVAL);
	logs("error_log", "options/overwrite: error: an option is 0 or 1\n"
			  "  Command: 2\n"
			  "           ^\n");
	shows("options/overwrite", "1\n");
}

/* Another instance's failures are its own. */
static void logs_of_instances(void **state)
{
	struct tree_node *dir = tree_find(t, "instances");

	assert_int_equal(tree_mkdir(dir, "foo", NULL), 0);
	assert_int_equal(echo("instances/foo/tracing_on", "x"), -EINVAL);
	logs("error_log", "");
	logs("instances/foo/error_log", "tracing_on: error: tracing_on is 0 or 1\n"
					"  Command: x\n"
					"           ^\n");
	tree_put(dir);
}

/* --- instances ---------------------------------------------------------------------- */

static void instances(void **state)
{
	struct tree_node *dir = tree_find(t, "instances"), *n;
	struct tree_open *o;

	assert_int_equal(tree_mkdir(dir, "foo", NULL), 0);
	assert_int_equal(tree_mkdir(dir, "foo", NULL), -EEXIST);
	assert_int_equal(echo("instances/foo/tracing_on", "0"), 0);
	assert_int_equal(echo("instances/foo/current_tracer", "function"), 0);
	assert_int_equal(echo("instances/foo/options/sym-addr", "1"), 0);
	shows("tracing_on", "1\n");
	shows("current_tracer", "nop\n");
	shows("options/sym-addr", "0\n");
	shows("instances/foo/current_tracer", "function\n");
	n = tree_find(t, "instances/foo");
	assert_int_equal(tree_mkdir(n, "x", NULL), -EPERM);
	tree_put(n);
	n = tree_find(t, "instances/foo/trace");
	assert_int_equal(tree_open(n, O_RDONLY, 0, 0, &o, NULL), 0);
	assert_int_equal(tree_rmdir(dir, "foo", 0, NULL), -EBUSY);
	tree_close(o);
	tree_put(n);
	assert_int_equal(tree_rmdir(dir, "foo", 0, NULL), 0);
	assert_int_equal(tree_mkdir(dir, "foo", NULL), 0);
	shows("instances/foo/current_tracer", "nop\n");
	tree_put(dir);
}

/* --- processors --------------------------------------------------------------------- */

struct mask_row { unsigned n; const char *text; int result; const char *shown; };

static void cpumasks(void **state)
{
	static const struct mask_row table[] = {
		{ 2, "3", 0, "3\n" }, { 2, "0", 0, "0\n" }, { 2, "ffff", -EOVERFLOW, NULL }, { 2, "zz", -EINVAL, NULL },
		{ 2, "", 0, "0\n" }, { 2, "00000003", 0, "3\n" }, { 2, "000000003", -EOVERFLOW, NULL },
		{ 12, "fFf", 0, "fff\n" }, { 12, "1", 0, "001\n" }, { 36, "f,ffffffff", 0, "f,ffffffff\n" },
		{ 36, "1,0", 0, "1,00000000\n" }, { 36, "10,0", -EOVERFLOW, NULL }, { 36, ",1", 0, "0,00000001\n" },
		{ 36, "1,,1", 0, "1,00000001\n" }, { 36, "1 1,", 0, "1,00000001\n" }, { 2, "0,1", -EOVERFLOW, NULL }, { 36, "-1", -EINVAL, NULL }, { 64, "ffffffff,00000001", 0, "ffffffff,00000001\n" },
		{ 1024, "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1", -EOVERFLOW, NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct cpumask m = { .n = table[i].n };
		int e = cpumask_parse(&m, table[i].text, NULL);
		char *text = cpumask_print(&m);

		if (e != table[i].result || (!e && strcmp(text, table[i].shown)))
			fail_msg("%s of %u: %d, %s", table[i].text, table[i].n, e, text);
		free(text);
	}
}

static void all_processors(void **state)
{
	char *before = tree_cat(t, "tracing_cpumask", NULL);

	assert_int_equal(echo("tracing_cpumask", "1"), 0);
	assert_int_equal(echo("tracing_cpumask", before), 0);
	shows("tracing_cpumask", before);
	free(before);
}

/* --- a target ----------------------------------------------------------------------- */

/* A session's stand-in: it notes each call, and refuses a buffer of 7. */
static struct target {
	char applied[256], marked[256];
	unsigned cleared, dropped;
	const char *pipe;
} seen;

static int apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	size_t n = strlen(seen.applied);

	snprintf(seen.applied + n, sizeof(seen.applied) - n, "%s=%lu ", file ? file : "all", next->buffer_size_kb);
	return next->buffer_size_kb == 7 ? err_at(err, EBUSY, "7", 0, "not seven") : 0;
}

static int trace(void *arg, const struct settings *s, struct out *out, struct err *err)
{
	out_printf(out, "on %d\n", s->tracing_on);
	return 0;
}

static int clear(void *arg, struct err *err)
{
	seen.cleared++;
	return 0;
}

static ssize_t read_pipe(void *arg, char *buf, size_t n, struct err *err)
{
	size_t length = seen.pipe ? strlen(seen.pipe) : 0;

	if (!length)
		return -EAGAIN;
	length = length < n ? length : n;
	memcpy(buf, seen.pipe, length);
	seen.pipe += length;
	return (ssize_t)length;
}

static bool pipe_ready(void *arg)
{
	return seen.pipe && *seen.pipe;
}

static int marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err)
{
	snprintf(seen.marked, sizeof(seen.marked), "%d %.*s%s", (int)thread, (int)n, text, raw ? " raw" : "");
	return 0;
}

static void drop(void *arg);
static int make(void *arg, struct instance *instance, const char *name, struct tree_target *out, struct err *err);

/* The functions of a small program, and of a module of its. */
static const struct { const char *name, *module; } functions[] = {
	{ "main", NULL }, { "vfs_read", NULL }, { "vfs_write", NULL }, { "map<int, char>::find", NULL }, { "vfs_open", "libvfs.so" },
};
#define FUNCTIONS_N (sizeof(functions) / sizeof(*functions))

static int check(void *arg, const char *file, const char *word, struct err *err)
{
	struct function_list l = { 0 };
	bool found = strstr(word, ":mod:");

	function_list_write(&l, word, false, NULL);
	for (size_t i = 0; i < FUNCTIONS_N; i++)
		found |= function_list_match(&l, functions[i].name, functions[i].module);
	function_list_free(&l);
	return found ? 0 : err_at(err, EINVAL, word, 0, "no function matches");
}

static char *function_at(void *arg, unsigned long line)
{
	return line && line <= FUNCTIONS_N ? mem_strdup(functions[line - 1].name) : NULL;
}

static void show_functions(void *arg, const struct function_list *l, struct out *out)
{
	for (size_t i = 0; i < FUNCTIONS_N; i++)
		if (!l || function_list_match(l, functions[i].name, functions[i].module))
			out_printf(out, functions[i].module ? "%s [%s]\n" : "%s\n", functions[i].name,
				   functions[i].module);
}

static const struct tree_target_ops target_ops = {
	.commands = true,
	.apply = apply, .check = check, .function_at = function_at, .functions = show_functions, .trace = trace,
	.clear = clear, .pipe = read_pipe, .pipe_ready = pipe_ready, .marker = marker, .make = make, .drop = drop,
};

static int make(void *arg, struct instance *instance, const char *name, struct tree_target *out, struct err *err)
{
	if (!strcmp(name, "no"))
		return err_set(err, ENOSPC, "no more");
	if (!strcmp(name, "late"))
		assert_int_equal(tree_echo(t, "uprobe_events", "-:gone", true, NULL), 0);
	*out = (struct tree_target){ &target_ops, NULL };
	return 0;
}

static void drop(void *arg)
{
	seen.dropped++;
}

static int attach(void **state)
{
	struct err err;

	seen = (struct target){ 0 };
	setup(state);
	assert_int_equal(instance_attach(instance_top(t), (struct tree_target){ &target_ops, NULL }, &err), 0);
	return 0;
}

static void the_target_decides(void **state)
{
	struct settings s;

	assert_int_equal(echo("buffer_size_kb", "8"), 0);
	assert_int_equal(echo("buffer_size_kb", "7"), -EBUSY);
	shows("buffer_size_kb", "8\n");
	assert_int_equal(echo("buffer_size_kb", "seven"), -EINVAL);
	assert_string_equal(seen.applied, "all=4096 buffer_size_kb=8 buffer_size_kb=7 ");
	logs("error_log", "buffer_size_kb: error: not seven\n  Command: 7\n           ^\n"
			  "buffer_size_kb: error: a size is a number of kilobytes, or one with K, M or G\n"
			  "  Command: seven\n           ^\n");
	instance_settings(instance_top(t), &s);
	assert_int_equal(s.buffer_size_kb, 8);
	settings_free(&s);
}

static void the_target_shows(void **state)
{
	assert_int_equal(echo("tracing_on", "0"), 0);
	shows("trace", "on 0\n");
	assert_int_equal(echo("trace", ""), 0);
	assert_int_equal(tree_echo(t, "trace", "", true, NULL), 0);
	assert_int_equal(seen.cleared, 1);
	seen.pipe = "line 1\nline 2\n";
	shows("trace_pipe", "line 1\nline 2\n");
	shows("trace_pipe", "");
	assert_int_equal(echo("trace_marker", "hello"), 0);
	assert_string_equal(seen.marked, "0 hello\n");
	assert_int_equal(echo("trace_marker_raw", "abcdefg"), 0);
	assert_string_equal(seen.marked, "0 abcdefg\n raw");
	instance_detach(instance_top(t));
	assert_int_equal(echo("buffer_size_kb", "7"), 0);
	assert_int_equal(instance_attach(instance_top(t), (struct tree_target){ &target_ops, NULL }, NULL), -EBUSY);
	shows("buffer_size_kb", "7\n");
}

static void targets_of_instances(void **state)
{
	struct tree_node *dir = tree_find(t, "instances");

	assert_int_equal(tree_mkdir(dir, "no", NULL), -ENOSPC);
	assert_null(tree_find(t, "instances/no"));
	assert_int_equal(tree_mkdir(dir, "yes", NULL), 0);
	shows("instances/yes/trace", "on 1\n");
	assert_int_equal(tree_rmdir(dir, "yes", 0, NULL), 0);
	assert_int_equal(seen.dropped, 1);
	tree_put(dir);
}

/* Defines an event, as uprobe_events does, but that no file is looked at. */
static void define(const char *line)
{
	struct probe_command c;
	struct err err;

	assert_int_equal(probe_command_parse(line, &c, &err), 0);
	assert_int_equal(events_add_probe(instance_events(t), &dynamic_provider, c.group, c.format, c.definition, &err), 0);
	c.definition = NULL;
	probe_command_free(&c);
}

static bool is_there(const char *path)
{
	struct tree_node *n = tree_find(t, path);

	if (n)
		tree_put(n);
	return n;
}

/* The event goes while the instance is being made: the target's make() removes it. */
static void an_event_goes_meanwhile(void **state)
{
	struct tree_node *dir = tree_find(t, "instances");

	define("p:gone /file:0x10");
	define("p:stays /file:0x10");
	assert_true(is_there("events/uprobes/gone/id"));
	assert_int_equal(tree_mkdir(dir, "late", NULL), 0);
	assert_false(is_there("events/uprobes/gone"));
	assert_false(is_there("instances/late/events/uprobes/gone"));
	assert_true(is_there("instances/late/events/uprobes/stays/id"));
	assert_int_equal(tree_mkdir(dir, "late", NULL), -EEXIST);
	assert_int_equal(tree_mkdir(dir, "no", NULL), -ENOSPC);
	define("p:gone /file:0x20");
	assert_true(is_there("instances/late/events/uprobes/gone/id"));
	assert_int_equal(tree_rmdir(dir, "late", 0, NULL), 0);
	tree_put(dir);
}

/* --- lists of functions ---------------------------------------------------------------- */

static ssize_t write_all(struct tree_open *o, const char *text)
{
	size_t done = 0, n = strlen(text);

	while (done < n) {
		ssize_t took = tree_write(o, 0, text + done, n - done, NULL);

		if (took <= 0)
			return took;
		done += (size_t)took;
	}
	return (ssize_t)n;
}

static struct tree_open *open_list(int flags)
{
	struct tree_node *n = tree_find(t, "set_ftrace_filter");
	struct tree_open *o;

	assert_int_equal(tree_open(n, O_WRONLY | flags, 0, 0, &o, NULL), 0);
	tree_put(n);
	return o;
}

#define FILTER "set_ftrace_filter"

static void lists_of_functions(void **state)
{
	shows("available_filter_functions", "main\nvfs_read\nvfs_write\nmap<int, char>::find\nvfs_open [libvfs.so]\n");
	shows(FILTER, "#### all functions enabled ####\n");
	assert_int_equal(echo(FILTER, "vfs_* main"), 0);
	shows(FILTER, "main\nvfs_read\nvfs_write\nvfs_open [libvfs.so]\n");
	assert_int_equal(tree_echo(t, FILTER, "!vfs_read !vfs_write", true, NULL), 0);
	shows(FILTER, "main\nvfs_open [libvfs.so]\n");
	assert_int_equal(tree_echo(t, FILTER, "2", true, NULL), 0);
	shows(FILTER, "main\nvfs_read\nvfs_open [libvfs.so]\n");
	assert_int_equal(echo(FILTER, "map<int, char>::find"), 0);
	shows(FILTER, "map<int, char>::find\n");
	assert_int_equal(echo(FILTER, ""), 0);
	shows(FILTER, "#### all functions enabled ####\n");
}

/* Each function that a command's glob means has it for itself. */
static void commands_on_functions(void **state)
{
	assert_int_equal(tree_echo(t, FILTER, "vfs_*:traceoff:3 main:stacktrace", true, NULL), 0);
	shows(FILTER, "#### all functions enabled ####\nmain:stacktrace:unlimited\nvfs_open:traceoff:count=3\n"
		      "vfs_write:traceoff:count=3\nvfs_read:traceoff:count=3\n");
	assert_int_equal(tree_echo(t, FILTER, "nosuch*:traceoff", true, NULL), -EINVAL);
	assert_int_equal(tree_echo(t, FILTER, "!vfs_[rw]*:traceoff:0", true, NULL), 0);
	assert_int_equal(echo(FILTER, "main"), 0);
	shows(FILTER, "main\nmain:stacktrace:unlimited\nvfs_open:traceoff:count=3\n");
}

/* One change at the close, whatever was written in however many pieces. */
static void a_list_changes_at_the_close(void **state)
{
	struct tree_open *o;

	assert_int_equal(echo(FILTER, "main"), 0);
	seen.applied[0] = '\0';
	o = open_list(O_TRUNC);
	tree_flush(o, NULL); /* a shell closes a duplicate before it writes */
	assert_int_equal(write_all(o, "  vfs_"), 6);
	assert_int_equal(write_all(o, "read\nmap<int,"), 13);
	assert_int_equal(write_all(o, " char>::find"), 12);
	assert_string_equal(seen.applied, "");
	tree_close(o);
	assert_string_equal(seen.applied, "set_ftrace_filter=4096 ");
	shows(FILTER, "vfs_read\nmap<int, char>::find\n");
	tree_close(open_list(O_APPEND));
	assert_string_equal(seen.applied, "set_ftrace_filter=4096 ");
	tree_close(open_list(O_TRUNC));
	shows(FILTER, "#### all functions enabled ####\n");
}

static void *close_late(void *arg)
{
	poll(NULL, 0, 400);
	tree_close(arg);
	return NULL;
}

/* A mount whose threads get no processor: the last close is carried out later than a reader would
 * wait for a writer. */
static void a_reader_waits_for_the_close(void **state)
{
	struct tree_open *o;
	pthread_t closer;

	assert_int_equal(echo(FILTER, "main"), 0);
	o = open_list(O_TRUNC);
	tree_closing(o);
	pthread_create(&closer, NULL, close_late, o);
	shows(FILTER, "#### all functions enabled ####\n");
	pthread_join(closer, NULL);
}

static void words_that_are_refused(void **state)
{
	struct tree_open *o = open_list(O_APPEND);

	assert_int_equal(tree_write(o, 0, "main nosuch vfs_read\n", 21, NULL), 5);
	assert_int_equal(tree_write(o, 0, "nosuch vfs_read\n", 16, NULL), -EINVAL);
	assert_int_equal(tree_write(o, 0, "vfs_read:hist\n", 14, NULL), -EINVAL);
	assert_int_equal(tree_write(o, 0, "\0", 1, NULL), -EINVAL);
	assert_int_equal(write_all(o, "late"), 4);
	assert_int_equal(tree_flush(o, NULL), -EINVAL);
	tree_close(o);
	shows(FILTER, "main\n");
	logs("error_log", "set_ftrace_filter: error: no function matches\n"
			  "  Command: nosuch vfs_read\n           ^\n"
			  "set_ftrace_filter: error: function commands such as `hist` are not supported, only `mod` is\n"
			  "  Command: vfs_read:hist\n                    ^\n"
			  "set_ftrace_filter: error: a name has no byte 0\n  Command:  \n           ^\n"
			  "set_ftrace_filter: error: no function matches\n  Command: late\n           ^\n");
}

/* A bracket that opens in a later write and never closes does not swallow what came before. */
static void brackets_over_writes(void **state)
{
	struct tree_open *o = open_list(O_TRUNC);

	assert_int_equal(write_all(o, "map<int, char>::find"), 20);
	assert_int_equal(write_all(o, "<"), 1);
	assert_int_equal(tree_write(o, 0, " main ", 6, NULL), -EINVAL); /* find< */
	tree_close(o);
}

/* --- many at once ------------------------------------------------------------------- */

static void *toggle(void *arg)
{
	for (unsigned i = 0; i < 3000; i++) {
		char *text;

		echo("options/sym-addr", i & 1 ? "1" : "0");
		text = tree_cat(t, "options/sym-addr", NULL);
		if (strcmp(text, "0\n") && strcmp(text, "1\n"))
			*(bool *)arg = true;
		free(text);
		echo("trace_options", i & 1 ? "overwrite" : "block");
		echo("tracing_on", "x");
	}
	return NULL;
}

/* Attaching and detaching go on meanwhile. */
static void many_threads(void **state)
{
	bool wrong[3] = { false };
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, toggle, &wrong[i]);
	for (unsigned i = 0; i < 2000; i++) {
		instance_detach(instance_top(t));
		instance_attach(instance_top(t), (struct tree_target){ &target_ops, NULL }, NULL);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_false(wrong[i]);
	}
}

/* One of each kind of file, and README names every one. */
static void readme(void **state)
{
	char *text = tree_cat(t, "README", NULL);
	struct tree_list l;

	tree_list(tree_root(t), &l);
	for (size_t i = 0; i < l.entries.n; i++) {
		char *word = mem_printf("\n  %s%s", l.entries.at[i].name, S_ISDIR(l.entries.at[i].mode) ? "/" : "");

		if (!strstr(text, word))
			fail_msg("README has no %s", l.entries.at[i].name);
		free(word);
	}
	tree_list_free(&l);
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TARGET_TEST(f) cmocka_unit_test_setup_teardown(f, attach, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_after_boot), TEST(an_empty_trace), TEST(clock_and_options_of_a_tracer), TEST(names_as_the_kernel),
		TEST(profile_without_a_program),
		TARGET_TEST(writes_as_on_the_kernel), TARGET_TEST(writes_as_on_a_later_kernel), TEST(refusals_are_logged),
		TEST(per_cpu), TEST(snapshots), TEST(freeing), TEST(logs_of_instances), TEST(instances), TEST(cpumasks), TEST(all_processors), TEST(readme),
		TARGET_TEST(the_target_decides), TARGET_TEST(the_target_shows), TARGET_TEST(targets_of_instances), TARGET_TEST(an_event_goes_meanwhile),
		TARGET_TEST(lists_of_functions), TARGET_TEST(commands_on_functions), TARGET_TEST(a_list_changes_at_the_close),
		TARGET_TEST(a_reader_waits_for_the_close), TARGET_TEST(words_that_are_refused),
		TARGET_TEST(brackets_over_writes), TARGET_TEST(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
