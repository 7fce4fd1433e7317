/* events/ and set_event, against what a running kernel showed and answered. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "golden.h"
#include "golden_events.h"

static struct tree *t;
static struct { unsigned applied; bool refuse; char file[64]; } seen;

static int setup(void **state)
{
	t = instance_tree_new();
	golden_events(t);
	memset(&seen, 0, sizeof(seen));
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
	char *file = mem_printf("k6.12-own.%s.txt", name), *want = golden(file);

	shows(path, want);
	free(want);
	free(file);
}

static int echo(const char *path, const char *text)
{
	return tree_echo(t, path, text, false, NULL);
}

static int append(const char *path, const char *text)
{
	return tree_echo(t, path, text, true, NULL);
}

#define SWITCH "events/sched/sched_switch/"
#define FORK "events/sched/sched_process_fork/"

/* --- as the kernel ------------------------------------------------------------------ */

static void as_after_boot(void **state)
{
	static const char *const same[][2] = {
		{ "set_event", "init.set_event" }, { "set_event_pid", "init.set_event_pid" },
		{ "set_event_notrace_pid", "init.set_event_notrace_pid" }, { "set_ftrace_pid", "init.set_ftrace_pid" },
		{ "set_ftrace_notrace_pid", "init.set_ftrace_notrace_pid" }, { "events/enable", "init.events.enable" },
		{ "events/sched/enable", "init.events.sched.enable" }, { "events/sched/filter", "init.events.sched.filter" },
		{ "events/header_event", "init.events.header_event" }, { "events/header_page", "init.events.header_page" },
		{ SWITCH "filter", "filter.cleared" },
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		shows_golden(same[i][0], same[i][1]);
	shows(SWITCH "enable", "0\n");
	shows(SWITCH "trigger", "# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n");
}

/* Of the kernel's format files all but the id, which is the session's. */
static void formats(void **state)
{
	char *want = golden("../../event/golden/k6.12-own.init.events.sched.sched_switch.format.txt");
	char *got = tree_cat(t, SWITCH "format", NULL), *id = tree_cat(t, SWITCH "id", NULL);
	char *line = mem_printf("\nID: %s", id);

	assert_non_null(strstr(got, line));
	assert_string_equal(strstr(got, "\nformat:"), strstr(want, "\nformat:"));
	free(line);
	free(id);
	free(got);
	free(want);
	got = tree_cat(t, "events/ftrace/funcgraph_entry/format", NULL);
	want = golden("../../event/golden/k6.12-own.init.events.ftrace.funcgraph_entry.format.txt");
	assert_string_equal(got, want);
	free(got);
	free(want);
}

static bool names(const char *path, const char *want)
{
	struct tree_node *dir = tree_find(t, path);
	struct tree_list l;
	char *all = mem_strdup("");
	bool same;

	tree_list(dir, &l);
	tree_put(dir);
	for (size_t i = 0; i < l.entries.n; i++) {
		char *more = mem_printf("%s%s ", all, l.entries.at[i].name);

		free(all);
		all = more;
	}
	tree_list_free(&l);
	same = !strcmp(all, want);
	if (!same)
		print_error("%s: %s\n", path, all);
	free(all);
	return same;
}

static void directories(void **state)
{
	assert_true(names("events", "enable header_event header_page ftrace sched syscalls "));
	assert_true(names("events/sched", "enable filter sched_switch sched_waking sched_wakeup sched_process_fork "
					  "sched_process_exec "));
	assert_true(names("events/sched/sched_switch", "enable filter format hist hist_debug id trigger "));
	assert_true(names("events/ftrace", "function funcgraph_entry funcgraph_exit print user_stack kernel_stack func_repeats context_switch wakeup hwlat osnoise timerlat raw_data "));
	assert_true(names("events/ftrace/function", "format hist hist_debug id "));
	assert_true(names("events/ftrace/print", "format hist hist_debug id trigger "));
	shows("available_events", "sched:sched_switch\nsched:sched_waking\nsched:sched_wakeup\nsched:sched_process_fork\n"
				  "sched:sched_process_exec\nsyscalls:sys_enter_openat\nsyscalls:sys_exit_openat\n");
}

static void set_event(void **state)
{
	assert_int_equal(echo("set_event", "sched:sched_switch sched:sched_waking"), 0);
	shows_golden("set_event", "set_event.two");
	assert_int_equal(append("set_event", "!sched_waking"), 0);
	shows("set_event", "sched:sched_switch\n");
	assert_int_equal(append("set_event", "syscalls:*"), 0);
	shows("set_event", "sched:sched_switch\nsyscalls:sys_enter_openat\nsyscalls:sys_exit_openat\n");
	shows("events/syscalls/enable", "1\n");
	assert_int_equal(append("set_event", "nosuch"), -EINVAL);
	assert_int_equal(append("set_event", "sched:*:mod:ext4"), -EINVAL);
	assert_int_equal(echo("set_event", ""), 0);
	shows("set_event", "");
}

static void enabling(void **state)
{
	static const char *const files[] = { "events/enable", "events/sched/enable", SWITCH "enable", FORK "enable" };
	char *want = golden("k6.12-own.enable-files.two-of-sched.txt");

	assert_int_equal(echo(SWITCH "enable", "1"), 0);
	assert_int_equal(echo("events/sched/sched_waking/enable", "1"), 0);
	for (size_t i = 0; i < 4; i++) {
		char line[3] = { want[2 * i], '\n' };

		shows(files[i], line);
	}
	assert_int_equal(echo("events/sched/enable", "1"), 0);
	shows("events/sched/enable", "1\n");
	shows("events/enable", "X\n");
	assert_int_equal(echo("events/enable", "1"), 0);
	shows("events/enable", "1\n");
	assert_int_equal(echo("events/enable", "0"), 0);
	shows("set_event", "");
	assert_int_equal(echo("events/enable", ""), -EINVAL);
	free(want);
}

/* The golden file's lines are the two files, each behind what is before it there. */
static void shows_both(const char *name, const char *before_first, const char *before_second)
{
	char *file = mem_printf("k6.12-own.%s.txt", name), *want = golden(file);
	char *first = tree_cat(t, SWITCH "enable", NULL), *second = tree_cat(t, "events/sched/sched_waking/enable", NULL);
	char *got = mem_printf("%s%s%s%s", before_first, first, before_second, second);

	assert_string_equal(got, want);
	free(got);
	free(first);
	free(second);
	free(want);
	free(file);
}

static void switched_on(void *arg, struct settings *s)
{
	event_set_enable(&s->events, events_find(instance_events(t), "sched", "sched_waking")->index, true);
}

static const struct tree_target_ops switching_ops = { .present = switched_on };

/* An event with a trigger, and one that a trigger switches, are armed. */
static void soft_mode(void **state)
{
	assert_int_equal(echo(SWITCH "enable", "1"), 0);
	assert_int_equal(echo(SWITCH "trigger", "enable_event:sched:sched_waking"), 0);
	shows_both("enable-files.soft-by-trigger", "", "");
	shows("events/sched/enable", "X\n");
	assert_int_equal(instance_attach(instance_top(t), (struct tree_target){ &switching_ops, NULL }, NULL), 0);
	shows("events/sched/sched_waking/enable", "1*\n");
	instance_detach(instance_top(t));
	assert_int_equal(append(SWITCH "trigger", "!enable_event:sched:sched_waking"), 0);
	shows(SWITCH "enable", "1\n");
	shows("events/sched/sched_waking/enable", "1\n");
}

static void filters(void **state)
{
	static const char *const rows[][2] = {
		{ "prev_comm == \"sh\" && (next_pid > 1 || prev_prio != 120)", "filter.set" },
		{ "prev_comm ~ \"*sh*\"", "filter.glob" }, { "prev_pid & 1", "filter.band" },
		{ "prev_comm ==", "filter.bad-value" }, { "nosuch == 1", "filter.no-such-field" }, { "0", "filter.cleared" },
	};
	char *members;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(echo(SWITCH "filter", rows[i][0]), i == 3 || i == 4 ? -EINVAL : 0);
		shows_golden(SWITCH "filter", rows[i][1]);
	}
	assert_int_equal(echo("events/sched/filter", "prev_pid > 1"), 0);
	shows_golden("events/sched/filter", "filter.subsystem-some-lack-field");
	members = golden("k6.12-own.filter.subsystem-some-lack-field.members.txt");
	assert_memory_equal(members, "prev_pid > 1\n", 13);
	shows(SWITCH "filter", "prev_pid > 1\n");
	shows(FORK "filter", members + 13);
	free(members);
	assert_int_equal(echo("events/sched/filter", "nosuch == 1"), 0);
	shows_golden("events/sched/filter", "filter.subsystem-some-lack-field");
	shows(SWITCH "filter", "nosuch == 1\n^\nparse_error: Couldn't find or set field in one of a subsystem's events\n\n");
	assert_int_equal(echo("events/sched/filter", "0"), 0);
	shows_golden("events/sched/filter", "init.events.sched.filter");
	shows(SWITCH "filter", "none\n");
}

/* Without times. */
static void logs(const char *want)
{
	char *got = tree_cat(t, "error_log", NULL), *to = got, *all = mem_strdup(want), *end = all;

	for (const char *p = got; *p; p++)
		if (*p == '[' && strchr(p, ']'))
			p = strchr(p, ']');
		else
			*to++ = *p;
	*to = '\0';
	for (const char *p = want; *p; p++)
		if (*p == '[' && strchr(p, ']'))
			p = strchr(p, ']');
		else
			*end++ = *p;
	*end = '\0';
	assert_string_equal(got, all);
	free(all);
	free(got);
}

static void errors(void **state)
{
	char *want = golden("k6.12-own.filter.error_log.txt");

	assert_int_equal(echo(SWITCH "filter", "prev_comm =="), -EINVAL);
	assert_int_equal(echo(SWITCH "filter", "nosuch == 1"), -EINVAL);
	logs(want);
	free(want);
	assert_int_equal(echo("error_log", ""), 0);
	assert_int_equal(append(SWITCH "trigger", "stacktrace:5 if prev_pid = 1"), -EINVAL);
	assert_int_equal(append(SWITCH "trigger", "nosuch"), -EINVAL);
	assert_int_equal(append("set_event", "nosuch:nosuch"), -EINVAL);
	assert_int_equal(append(SWITCH "enable", "2"), -EINVAL);
	assert_int_equal(append("set_event_pid", "12 abc"), -EINVAL);
	logs(" event filter parse error: error: Invalid operator\n"
	     "  Command: prev_pid = 1\n                     ^\n"
	     " " SWITCH "trigger: error: no trigger: one is traceon, traceoff, stacktrace or snapshot, each with [:COUNT], or "
	     "enable_event or disable_event:SYSTEM:EVENT[:COUNT], or hist:keys=FIELD; [if FILTER] behind it\n"
	     "  Command: nosuch\n           ^\n"
	     " set_event: error: no event has this name; available_events lists them\n"
	     "  Command: nosuch:nosuch\n           ^\n"
	     " " SWITCH "enable: error: an event is off (0) or on (1)\n"
	     "  Command: 2\n           ^\n"
	     " set_event_pid: error: a process is chosen by its number\n"
	     "  Command: 12 abc\n              ^\n");
}

static void triggers(void **state)
{
	static const char *const lines[] = {
		"traceoff", "snapshot:1", "stacktrace:4", "enable_event:sched:sched_waking",
		"disable_event:sched:sched_wakeup:3 if parent_pid > 1",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(echo(FORK "trigger", lines[i]), 0);
	shows(FORK "trigger", "disable_event:sched:sched_wakeup:count=3 if parent_pid > 1\n"
			      "enable_event:sched:sched_waking:unlimited\nstacktrace:count=4\nsnapshot:count=1\n"
			      "traceoff:unlimited\n");
	assert_int_equal(echo(FORK "trigger", "traceoff"), -EEXIST);
	assert_int_equal(echo("events/ftrace/print/trigger", "traceoff:1"), 0);
	shows("events/ftrace/print/trigger", "traceoff:count=1\n");
}

/* Columns as Linux 7.0 has them: what belongs to an event begins at the 33rd byte, or one blank
 * behind a longer name. */
static void all_filters_and_triggers(void **state)
{
	shows("show_event_filters", "");
	shows("show_event_triggers", "");
	assert_int_equal(echo(SWITCH "filter", "prev_pid > 1"), 0);
	assert_int_equal(echo(FORK "filter", "parent_pid == 7"), 0);
	assert_int_equal(append(SWITCH "trigger", "traceoff:2"), 0);
	assert_int_equal(append(SWITCH "trigger", "stacktrace if prev_pid == 1"), 0);
	assert_int_equal(append("events/ftrace/print/trigger", "traceon"), 0);
	shows("show_event_filters", "sched:sched_switch              prev_pid > 1\n"
				    "sched:sched_process_fork        parent_pid == 7\n");
	shows("show_event_triggers", "ftrace:print                    traceon:unlimited\n"
				     "sched:sched_switch              stacktrace:unlimited if prev_pid == 1\n"
				     "sched:sched_switch              traceoff:count=2\n");
	assert_int_equal(echo(FORK "filter", "0"), 0);
	assert_int_equal(append(SWITCH "trigger", "!traceoff"), 0);
	shows("show_event_filters", "sched:sched_switch              prev_pid > 1\n");
	assert_int_equal(echo("show_event_filters", "0"), -EINVAL);
	shows("last_boot_info", "# Current\n");
}

/* Brings the text into a form in which two can be compared: without blanks at the begin of lines
 * and empty lines, which the document has cut differently; addresses of histograms, which differ,
 * become 1, 2 and so on in the order in which they come, in *known, too. */
static char *plain(const char *text, char known[][17], size_t *n)
{
	char *copy = mem_strdup(text), *out = mem_strdup(""), *save;

	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *data = strstr(l, "hist_data: "), *longer;
		size_t i = 0;

		l += strspn(l, " ");
		if (!*l)
			continue;
		for (; data && i < *n && strcmp(known[i], data + 11);)
			i++;
		if (data && i == *n)
			snprintf(known[(*n)++], 17, "%s", data + 11);
		longer = data ? mem_printf("%s%.*s%zu\n", out, (int)(data + 11 - l), l, i + 1)
			      : mem_printf("%s%s\n", out, l);
		free(out);
		out = longer;
	}
	free(copy);
	return out;
}

/* "# echo 'TEXT' >> FILE": carried out. */
static void carry_out(const char *line)
{
	const char *text = strchr(line, '\'') + 1, *end = strstr(text, "' >> ");
	char *what = mem_strndup(text, (size_t)(end - text)), *file = mem_strndup(end + 5, strcspn(end + 5, "\n"));

	if (append(file, what))
		fail_msg("%s > %s: %s", what, file, tree_cat(t, "error_log", NULL));
	free(what);
	free(file);
}

/* The examples of the kernel's Documentation/trace/histogram-design.rst: what is written there
 * gives the `hist_debug` files that are shown there. Sizes are those of Linux 6.12: of an
 * expression that of its first operand, of a string its field's. sched_waking is an event `woken`
 * here, since the one of golden_events.c has no fields. */
static void hist_debug(void **state)
{
	static const struct event_provider programs = { .name = "program", .can_enable = true };
	static const struct event_field fields[] = { { "char[16]", "comm", 8, 16, false }, { "pid_t", "pid", 24, 4, true },
						     { "int", "prio", 28, 4, true } };
	struct event_format waking = { "woken", "sched_waking", 0, fields, 3, "\"pid=%d\", REC->pid" };
	char *all = golden("hist_debug.doc.txt"), is[16][17], should[16][17];
	const struct event_entry *e;
	size_t n_is = 0, n_should = 0;

	assert_int_equal(events_add_format(instance_events(t), &programs, &waking, &e, NULL), 0);

	for (char *at = all, *next; *at; at = next) {
		char *file, *want, *got, *plain_got, *plain_want, *end;

		next = strchr(at, '\n') + 1;
		if (!strncmp(at, "# echo ", 7)) {
			carry_out(at);
			continue;
		}
		end = strstr(next, "\n# echo ");
		file = strstr(next, "\n# cat ");
		next = (file && file < end ? file : end) + 1;
		file = mem_strndup(at + 6, strcspn(at + 6, "\n"));
		want = mem_strndup(strchr(at, '\n') + 1, (size_t)(next - strchr(at, '\n') - 1));
		got = tree_cat(t, file, NULL);
		assert_non_null(got);
		plain_got = plain(got, is, &n_is);
		plain_want = plain(want, should, &n_should);
		assert_string_equal(plain_got, plain_want);
		free(file);
		free(want);
		free(got);
		free(plain_got);
		free(plain_want);
	}
	assert_int_equal(n_is, 9);
	free(all);
	shows(SWITCH "hist_debug", "");
}

static void pids(void **state)
{
	assert_int_equal(echo("set_event_pid", "67"), 0);
	shows_golden("set_event_pid", "set_event_pid.one");
	assert_int_equal(append("set_event_pid", "5 0x10\t5"), 0);
	shows("set_event_pid", "5\n16\n67\n");
	assert_int_equal(append("set_event_pid", "7 -1"), -EINVAL);
	shows("set_event_pid", "5\n16\n67\n");
	assert_int_equal(append("set_event_pid", " "), 0); /* the kernel's stays, too */
	shows("set_event_pid", "5\n16\n67\n");
	assert_int_equal(echo("set_event_pid", ""), 0);
	shows("set_event_pid", "");
	assert_int_equal(echo("set_ftrace_notrace_pid", "1"), 0);
	assert_int_equal(echo("set_ftrace_notrace_pid", ""), 0);
	shows("set_ftrace_notrace_pid", "no pid\n");
}

/* --- function commands ----------------------------------------------------------------- */

/* A dump is done once, as the real kernel showed. */
static void dump_is_done(void)
{
	struct settings s;

	instance_settings(instance_top(t), &s);
	for (size_t i = 0; i < s.commands.at.n; i++)
		if (s.commands.at.at[i]->action == FUNCTION_DUMP)
			assert_true(function_command_due(s.commands.at.at[i], false));
	settings_free(&s);
}

static void function_commands(void **state)
{
	static const char *const words[] = {
		"schedule:traceoff", "schedule:traceon:0", "vfs_read:traceoff:5", "vfs_write:stacktrace", "vfs_open:stacktrace:2",
		"do_exit:enable_event:sched:sched_switch", "do_exit:disable_event:sched:sched_waking:7", "kernel_clone:snapshot",
		"kernel_clone:dump:5", "do_exit:cpudump",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_int_equal(append("set_ftrace_filter", words[i]), 0);
	dump_is_done();
	shows_golden("set_ftrace_filter", "set_ftrace_filter.commands");
	shows(SWITCH "enable", "0*\n");
	assert_int_equal(echo(SWITCH "enable", "1"), 0);
	shows_both("enable-files.soft-by-function-command", "events/sched/sched_switch/enable:",
		   "events/sched/sched_waking/enable:");
	assert_int_equal(echo(SWITCH "enable", "0"), 0);
	assert_int_equal(append("set_ftrace_filter", "vfs_fsync"), 0);
	shows_golden("set_ftrace_filter", "set_ftrace_filter.function-and-commands");
	assert_int_equal(append("set_ftrace_filter", "!schedule:traceoff !vfs_*:stacktrace"), 0);
	shows_golden("set_ftrace_filter", "set_ftrace_filter.commands-after-two-removals");
	assert_int_equal(append("set_ftrace_filter", "vfs_fsync:hist"), -EINVAL);
	assert_int_equal(append("set_ftrace_filter", "vfs_fsync:traceoff:x"), -EINVAL);
	assert_int_equal(append("set_ftrace_filter", "vfs_fsync:enable_event:sched"), -EINVAL);
	assert_int_equal(append("set_ftrace_filter", "vfs_fsync:enable_event:sched:nosuch"), -EINVAL);
	assert_int_equal(append("set_ftrace_notrace", "vfs_fsync:traceoff"), -EINVAL);
	assert_int_equal(append("set_ftrace_filter", "!do_exit:enable_event:sched:sched_switch"), 0);
	shows(SWITCH "enable", "0\n");
	assert_int_equal(echo("set_ftrace_filter", ""), 0); /* names go, commands stay */
	shows("set_ftrace_filter", "#### all functions enabled ####\ndo_exit:cpudump:unlimited\n"
				   "kernel_clone:dump:count=0\nkernel_clone:snapshot:unlimited\n"
				   "do_exit:disable_event:sched:sched_waking:count=7\nvfs_open:stacktrace:count=2\n"
				   "vfs_read:traceoff:count=5\nschedule:traceon:count=0\n");
}

static void counts_are_shared(void **state)
{
	struct settings s;
	struct function_command *c;

	assert_int_equal(append("set_ftrace_filter", "std::sort:traceoff:2"), 0);
	instance_settings(instance_top(t), &s);
	c = s.commands.at.at[0];
	assert_string_equal(c->function, "std::sort");
	assert_false(function_command_due(c, true));
	assert_true(function_command_due(c, false));
	shows("set_ftrace_filter", "#### all functions enabled ####\nstd::sort:traceoff:count=1\n");
	assert_true(function_command_due(c, false));
	assert_false(function_command_due(c, false));
	settings_free(&s);
	shows("set_ftrace_filter", "#### all functions enabled ####\nstd::sort:traceoff:count=0\n");
	assert_int_equal(append("set_ftrace_filter", "!std::*:traceoff:0"), 0);
	shows("set_ftrace_filter", "#### all functions enabled ####\n");
}

/* --- instances, targets, many at once ------------------------------------------------ */

static void make(const char *name)
{
	struct tree_node *dir = tree_find(t, "instances");

	assert_int_equal(tree_mkdir(dir, name, NULL), 0);
	tree_put(dir);
}

static int remove_instance(const char *name)
{
	struct tree_node *dir = tree_find(t, "instances");
	int e = tree_rmdir(dir, name, 0, NULL);

	tree_put(dir);
	return e;
}

static void instances_have_their_own(void **state)
{
	make("foo");
	assert_int_equal(echo("instances/foo/set_event", "sched"), 0);
	shows("instances/foo/events/sched/enable", "1\n");
	shows("events/sched/enable", "0\n");
	assert_int_equal(echo("instances/foo/" SWITCH "filter", "prev_pid == 1"), 0);
	shows(SWITCH "filter", "none\n");
	golden_event_of(t, "mine", "one");
	shows("instances/foo/events/mine/one/enable", "0\n");
	shows("events/mine/enable", "0\n");
	shows("events/enable", "0\n");
	shows("instances/foo/events/enable", "X\n");
}

static int apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	seen.applied++;
	snprintf(seen.file, sizeof(seen.file), "%s", file ? file : "all");
	return seen.refuse ? err_set(err, EBUSY, "not now") : 0;
}

static const struct tree_target_ops target_ops = { .apply = apply, .commands = true };
static const struct tree_target_ops simple_ops = { .apply = apply };

static void the_target_decides(void **state)
{
	assert_int_equal(instance_attach(instance_top(t), (struct tree_target){ &target_ops, NULL }, NULL), 0);
	assert_int_equal(echo("events/sched/enable", "1"), 0);
	assert_int_equal(seen.applied, 2);
	assert_string_equal(seen.file, "set_event");
	assert_int_equal(append("set_event", "!sched_switch"), 0);
	assert_string_equal(seen.file, "set_event");
	seen.refuse = true;
	assert_int_equal(echo("events/enable", "0"), -EBUSY);
	assert_int_equal(echo(SWITCH "filter", "prev_pid == 1"), -EBUSY);
	assert_int_equal(append(SWITCH "trigger", "traceoff"), -EBUSY);
	assert_int_equal(echo("set_event", ""), -EBUSY);
	shows(SWITCH "filter", "none\n");
	shows(SWITCH "enable", "0\n");
	shows("events/sched/enable", "X\n");
	instance_detach(instance_top(t));
}

/* Absurd values are refused. */
static void a_target_without_triggers(void **state)
{
	assert_int_equal(instance_attach(instance_top(t), (struct tree_target){ &simple_ops, NULL }, NULL), 0);
	assert_int_equal(append(SWITCH "trigger", "traceoff"), -EINVAL);
	assert_int_equal(append(SWITCH "trigger", "!traceoff"), 0);
	assert_int_equal(append("set_ftrace_filter", "main:traceoff"), -EINVAL);
	instance_detach(instance_top(t));
	assert_int_equal(append(SWITCH "trigger", "traceoff"), 0);
}

static void *bring(void *arg)
{
	for (unsigned i = 0; i < 300; i++) {
		char *system = mem_printf("system%u", i % 7), *name = mem_printf("event%u", i);

		golden_event_of(t, system, name);
		free(system);
		free(name);
	}
	return NULL;
}

/* Instances come and go while programs bring events; who stays has them all. */
static void events_come_while_instances_go(void **state)
{
	pthread_t threads[2];

	make("stays");
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, bring, NULL);
	for (unsigned i = 0; i < 40; i++) {
		make("goes");
		echo("instances/goes/set_event", "*:*");
		assert_int_equal(remove_instance("goes"), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	make("late");
	for (unsigned i = 0; i < 300; i++) {
		char *name = mem_printf("instances/%s/events/system%u/event%u/enable", i & 1 ? "stays" : "late", i % 7, i);

		shows(name, "0\n");
		free(name);
	}
	assert_int_equal(remove_instance("stays"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_after_boot), TEST(formats), TEST(directories), TEST(set_event), TEST(enabling), TEST(soft_mode),
		TEST(filters), TEST(errors), TEST(triggers), TEST(all_filters_and_triggers), TEST(hist_debug), TEST(pids), TEST(function_commands), TEST(counts_are_shared), TEST(instances_have_their_own),
		TEST(the_target_decides), TEST(a_target_without_triggers), TEST(events_come_while_instances_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
