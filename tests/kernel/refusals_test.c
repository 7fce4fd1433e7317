/* SPDX-License-Identifier: MIT */
/* What brace says of kernels that lack something, by the files that those kernels have: copies in a
 * directory, because the kernels at hand lack little. */
#include "../store/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernel/absent.h"
#include "kernel/functions.h"
#include "kernel/inlined.h"
#include "kernel/instance.h"
#include "kernel/tracefs.h"

static char dir[] = "/tmp/brace-refusals.XXXXXX";

static void put(const char *file, const char *text)
{
	char *path = mem_printf("%s/%s", dir, file);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static void drop(const char *file)
{
	char *path = mem_printf("%s/%s", dir, file);

	unlink(path);
	free(path);
}

static int begin(void **state) { return mkdtemp(dir) ? 0 : -1; }
static int end(void **state)
{
	static const char *const files[] = { "available_tracers", "error_log", "available_events",
					     "available_filter_functions" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		drop(files[i]);
	return rmdir(dir);
}

static void refuse(const char *file, const char *text, int e, struct err *err)
{
	*err = (struct err){ 0 };
	assert_true(kernel_instance_refused(dir, dir, file, text, e, err) < 0);
}

/* Debian 12's 6.12, and a kernel without CONFIG_FUNCTION_GRAPH_TRACER. */
static void graph_is_not_built(void **state)
{
	struct err err;

	put("available_tracers", "blk mmiotrace function nop\n");
	refuse("current_tracer", "function_graph", -EINVAL, &err);
	assert_non_null(strstr(err.text, "built without function_graph (CONFIG_FUNCTION_GRAPH_TRACER)"));
}

/* Debian 12's 6.1: an instance answers with EINVAL. */
static void graph_is_not_in_instances(void **state)
{
	struct err err;

	put("available_tracers", "blk mmiotrace function_graph function nop\n");
	refuse("current_tracer", "function_graph", -EINVAL, &err);
	assert_non_null(strstr(err.text, "it takes Linux 6.11; events (-e) can be had here"));
}

static void clock_is_not_there(void **state)
{
	struct err err;

	refuse("trace_clock", "x86-tsc", -EINVAL, &err);
	assert_non_null(strstr(err.text, "has no clock x86-tsc"));
}

/* The kernel empties a list before it refuses what is to be in it. */
static void functions_are_looked_up(void **state)
{
	struct err err = { 0 };

	put("available_filter_functions", "vfs_read\nvfs_write\nparse.isra.0\next4_read [ext4]\n");
	assert_int_equal(kernel_functions_check(dir, "vfs_re*", &err), 0);
	assert_int_equal(kernel_functions_check(dir, "ext4_read", &err), 0);
	assert_int_equal(kernel_functions_check(dir, ":mod:ext4", &err), 0);
	assert_int_equal(kernel_functions_check(dir, "17", &err), 0);
	drop("available_filter_functions");
	assert_int_equal(kernel_functions_check(dir, "vfs_read", &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "built without dynamic ftrace"));
}

/* The last sentence counts, and its column is the command's. */
static void errors_have_columns(void **state)
{
	size_t column;
	char *text;

	assert_null(kernel_tracefs_error(dir, &column));
	put("error_log", "[  1.5] trace_kprobe: error: Group name is too long\n"
			 "  Command: p:x vfs_read\n             ^\n"
			 "[  2.5] trace_kprobe: error: Invalid argument expression\n"
			 "  Command: p:brace_1/x vfs_read size=%dxx:u32\n"
			 "                                   ^\n");
	text = kernel_tracefs_error(dir, &column);
	assert_string_equal(text, "Invalid argument expression");
	assert_int_equal(column, strlen("p:brace_1/x vfs_read size=") - 2);
	free(text);
	put("error_log", "[  1.5] hist:sched: error: Couldn't find field");
	text = kernel_tracefs_error(dir, &column);
	assert_string_equal(text, "Couldn't find field");
	assert_true(column == SIZE_MAX);
	free(text);
}

/* In the debug information of this program. */
static inline __attribute__((always_inline)) int swallowed(int x)
{
	return x * x + (x >> 3);
}

int swallower(int x);
__attribute__((noipa)) int swallower(int x)
{
	return swallowed(x) - 1;
}

static void inlined_functions_are_found(void **state)
{
	char exe[4096] = { 0 }, *text;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(swallower(8), 64);
	text = kernel_inlined_into(exe, "swallowed");
	assert_non_null(text);
	assert_non_null(strstr(text, "inlined into swallower ("));
	assert_non_null(strstr(text, "refusals_test.c:"));
	free(text);
	assert_null(kernel_inlined_into(exe, "swallower"));
	assert_null(kernel_inlined_into(exe, "no_such_function"));
	assert_null(kernel_inlined_into("/nonexistent", "swallowed"));
}

/* The text of Debian's 6.12 for two filters: the newest entry counts. */
static void filter_is_explained(void **state)
{
	struct err err;

	put("error_log", "[  446.813259] event filter parse error: error: Invalid value (did you forget quotes)?\n"
			 "  Command: sig ==\n                  ^\n"
			 "[  446.489220] event filter parse error: error: Field not found\n"
			 "  Command: sig > 1 && prev_pd > 0\n                      ^\n");
	refuse("events/sched/sched_switch/filter", "sig > 1 && prev_pd > 0", -EINVAL, &err);
	assert_string_equal(err.text, "the kernel refuses this filter: Field not found");
	assert_int_equal(err.column, 11);
	drop("error_log");
	refuse("events/sched/sched_switch/filter", "sig", -EINVAL, &err);
	assert_string_equal(err.text, "the kernel refuses this filter: Invalid argument");
}

#define TRIGGERS "events/sched/sched_switch/trigger"

static void expect_trigger(const char *text, const char *sentence, size_t column)
{
	struct err err;

	refuse(TRIGGERS, text, -EINVAL, &err);
	assert_string_equal(err.text, sentence);
	assert_string_equal(err.input, text);
	assert_int_equal(err.column, column);
}

/* The text of Debian's 6.12 for a trigger's filter, of which it shows the filter alone, and for a
 * histogram. */
static void trigger_is_explained(void **state)
{
	put("error_log", "[    2.215712] event filter parse error: error: Field not found\n"
			 "  Command: prev_pid > 3 && prev_pd < 3\n                                   ^\n");
	expect_trigger("stacktrace:2 if prev_pid > 3 && prev_pd < 3",
		       "the kernel refuses this trigger: Field not found",
		       strlen("stacktrace:2 if prev_pid > 3 && prev_pd "));
	put("error_log", "[    2.283373] hist:sched:sched_switch: error: Couldn't find field\n"
			 "  Command: hist:keys=prev_pd\n                     ^\n");
	expect_trigger("hist:keys=prev_pd", "the kernel refuses this trigger: Couldn't find field",
		       strlen("hist:keys="));
	drop("error_log");
}

/* Nearest names of the list, and the options of what is not built. */
static void events_are_looked_up(void **state)
{
	struct err err;

	put("available_events", "sched:sched_switch\nsched:sched_waking\nsyscalls:sys_enter_read\n");
	refuse("set_event", "sched:sched_swich", -EINVAL, &err);
	assert_non_null(strstr(err.text, "did you mean sched:sched_switch?"));
	refuse("set_event", "sched_wakin", -EINVAL, &err);
	assert_non_null(strstr(err.text, "did you mean sched_waking?"));
	refuse("set_event", "shed", -EINVAL, &err);
	assert_non_null(strstr(err.text, "did you mean sched?"));
	refuse("set_event", "sched:*swich", -EINVAL, &err);
	assert_null(strstr(err.text, "did you mean"));
	refuse("set_event", "syscalls:nothing", -EINVAL, &err);
	assert_null(strstr(err.text, "built without"));
	refuse("set_event", "osnoise:sample", -EINVAL, &err);
	assert_non_null(strstr(err.text, "built without CONFIG_OSNOISE_TRACER"));
	drop("available_events");
}

static void expect_tracer(const char *name, const char *wanted)
{
	struct err err = { 0 };

	assert_int_equal(kernel_absent_tracer(dir, name, &err), -EINVAL);
	if (!strstr(err.text, wanted))
		fail_msg("%s: %s", name, err.text);
}

static void tracers_are_looked_up(void **state)
{
	put("available_tracers", "blk mmiotrace function_graph function nop\n");
	expect_tracer("irqsoff", "built without it (CONFIG_IRQSOFF_TRACER)");
	expect_tracer("osnoise", "without -K, brace has one of its own");
	expect_tracer("blk", "the kernel has this tracer, but brace does not read its records");
	expect_tracer("function_grahp", "did you mean function_graph?");
	expect_tracer("func", "the kernel has no such tracer");
}

static struct err told[4];
static size_t n_told;

static void tell(const struct err *why) { told[n_told++] = *why; }

/* One walk, a sentence for each text, in their order. */
static void names_are_explained_each(void **state)
{
	static const char *const texts[] = { "vfs_raed", "brace_parse", "ext4_read:mod:xfs" };
	struct err err = { 0 };

	put("available_filter_functions", "vfs_read\nbrace_parse.isra.0\next4_read [ext4]\n");
	n_told = 0;
	assert_int_equal(kernel_functions_explain_each(dir, texts, 3, tell, &err), 0);
	assert_int_equal(n_told, 3);
	assert_non_null(strstr(told[0].text, "did you mean vfs_read?"));
	assert_non_null(strstr(told[1].text, "the compiler's copy brace_parse.isra.0"));
	assert_non_null(strstr(told[2].text, "no such function in this module"));
	assert_int_equal(told[2].column, strlen("ext4_read"));
}

/* Where the kernel has no sentence: its word alone, unless the fault can be found. */
static void trigger_without_a_sentence(void **state)
{
	static const char *const folders[] = { "events", "events/sched",
					       "events/sched/sched_process_exec" };
	struct err err;

	for (size_t i = 0; i < 3; i++) {
		char *path = mem_printf("%s/%s", dir, folders[i]);

		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	put("events/sched/sched_process_exec/trigger",
	    "# Available triggers:\n# traceon traceoff stacktrace enable_event hist\n");
	put("events/sched/sched_process_exec/enable", "0\n");
	expect_trigger("stack if prev_pid > 1",
		       "the kernel has no such trigger; it has traceon traceoff stacktrace enable_event hist",
		       0);
	expect_trigger("stacktrace:abc",
		       "the kernel wants a number here: how often the trigger works", 11);
	expect_trigger("enable_event:sched", "the kernel wants SYSTEM:EVENT here", 13);
	expect_trigger("enable_event:sched:sched_process_exec:1 if",
		       "the kernel refuses this trigger: Invalid argument", 0);
	refuse(TRIGGERS, "enable_event:sched:nothing", -EINVAL, &err);
	assert_non_null(strstr(err.text, "the kernel has no such event"));
	refuse(TRIGGERS, "traceoff", -EEXIST, &err);
	assert_string_equal(err.text, "the event has such a trigger already");
	drop("events/sched/sched_process_exec/trigger");
	drop("events/sched/sched_process_exec/enable");
	for (size_t i = 3; i-- > 0;) {
		char *path = mem_printf("%s/%s", dir, folders[i]);

		rmdir(path);
		free(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graph_is_not_built),
		cmocka_unit_test(graph_is_not_in_instances),
		cmocka_unit_test(clock_is_not_there),
		cmocka_unit_test(functions_are_looked_up),
		cmocka_unit_test(events_are_looked_up),
		cmocka_unit_test(tracers_are_looked_up),
		cmocka_unit_test(names_are_explained_each),
		cmocka_unit_test(errors_have_columns),
		cmocka_unit_test(filter_is_explained),
		cmocka_unit_test(trigger_is_explained),
		cmocka_unit_test(trigger_without_a_sentence),
		cmocka_unit_test(inlined_functions_are_found),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
