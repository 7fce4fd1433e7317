/* The files of the tree: what they accept, refuse and show. Where shared behaviour with the
 * kernel is claimed, the case is one that was tried on a kernel (7.2 and 6.12). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/settings.h"

static struct settings s;

static int setup(void **state)
{
	settings_init(&s);
	return 0;
}

static int teardown(void **state)
{
	settings_free(&s);
	return 0;
}

static int put(const char *file, const char *text)
{
	return settings_write(&s, file, text, false, NULL);
}

static void shows(const char *file, const char *want)
{
	char *got = settings_read(&s, file);

	if (!got)
		fail_msg("no file %s", file);
	assert_string_equal(got, want);
	free(got);
}

/* Texts as a freshly booted kernel shows them. */
static void as_after_boot(void **state)
{
	shows("set_ftrace_filter", "#### all functions enabled ####\n");
	shows("set_ftrace_notrace", "#### no functions disabled ####\n");
	shows("set_graph_function", "#### all functions enabled ####\n");
	shows("set_graph_notrace", "#### no functions disabled ####\n");
	shows("max_graph_depth", "0\n");
	shows("tracing_thresh", "0\n");
	shows("tracing_on", "1\n");
	shows("current_tracer", "function_graph\n");
	shows("options/funcgraph-cpu", "1\n");
	shows("options/funcgraph-proc", "0\n");
	assert_int_equal(s.mode, BUFFER_STREAM);
}

struct write_result { const char *file, *text; int result; };

static void refused_as_by_the_kernel(void **state)
{
	static const struct write_result table[] = {
		{ "current_tracer", "nosuchtracer", -EINVAL },
		{ "tracing_on", "7", 0 }, { "tracing_on", "abc", -EINVAL },
		{ "tracing_on", "", -EINVAL }, { "buffer_size_kb", "abc", -EINVAL },
		{ "buffer_size_kb", "0", -EINVAL }, { "trace_options", "nosuch", -EINVAL },
		{ "trace_options", "nooverwrite", 0 }, { "options/overwrite", "2", -EINVAL },
		{ "trace_clock", "nosuch", -EINVAL }, { "tracing_thresh", "abc", -EINVAL },
		{ "max_graph_depth", "-1", -EINVAL }, { "max_graph_depth", "5", 0 },
		{ "max_graph_depth", "5\n", 0 }, { "max_graph_depth", " 5\n", -EINVAL }, { "max_graph_depth", "5 ", -EINVAL }, { "max_graph_depth", "0", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (put(table[i].file, table[i].text) != table[i].result)
			fail_msg("echo '%s' > %s", table[i].text, table[i].file);
}

static void unknown_and_read_only_files(void **state)
{
	assert_int_equal(put("nosuchfile", "1"), -ENOENT);
	assert_int_equal(put("options/nosuch", "1"), -ENOENT);
	assert_int_equal(put("available_tracers", "nop"), -EACCES);
	assert_null(settings_read(&s, "nosuchfile"));
	assert_null(settings_read(&s, "options/nosuch"));
}

static void every_file_reads_back(void **state)
{
	for (unsigned i = 0; settings_file(i); i++) {
		char *text = settings_read(&s, settings_file(i));

		assert_non_null(text);
		assert_true(!*text || text[strlen(text) - 1] == '\n');
		free(text);
	}
}

static void tracer(void **state)
{
	assert_int_equal(put("current_tracer", "function"), 0);
	assert_ptr_equal(s.tracer, &tracer_function);
	shows("current_tracer", "function\n");
	assert_int_equal(put("current_tracer", "function_graph\n"), 0);
	assert_ptr_equal(s.tracer, &tracer_function_graph);
}

/* The file is in microseconds; units are brace's. */
static void threshold(void **state)
{
	assert_int_equal(put("tracing_thresh", "100"), 0);
	assert_int_equal(s.tracing_thresh_ns, 100000);
	assert_int_equal(put("tracing_thresh", "2ms"), 0);
	shows("tracing_thresh", "2000\n");
	assert_int_equal(put("tracing_thresh", "1500ns"), 0);
	shows("tracing_thresh", "1500ns\n");
}

static void lists_append(void **state)
{
	assert_int_equal(settings_write(&s, "set_ftrace_filter", "a", false, NULL), 0);
	assert_int_equal(settings_write(&s, "set_ftrace_filter", "b*", true, NULL), 0);
	shows("set_ftrace_filter", "a\nb*\n");
	assert_int_equal(settings_write(&s, "set_ftrace_filter", "c", false, NULL), 0);
	shows("set_ftrace_filter", "c\n");
	assert_int_equal(put("set_ftrace_filter", ""), 0);
	shows("set_ftrace_filter", "#### all functions enabled ####\n");
}

static void modes(void **state)
{
	assert_int_equal(put("options/overwrite", "1"), 0);
	assert_int_equal(s.mode, BUFFER_OVERWRITE);
	assert_int_equal(put("trace_options", "block"), 0);
	assert_int_equal(s.mode, BUFFER_BLOCK);
	shows("options/overwrite", "1\n"); /* and is what it was without block */
	shows("options/block", "1\n");
	assert_int_equal(put("trace_options", "nooverwrite"), 0);
	assert_int_equal(s.mode, BUFFER_BLOCK);
	assert_int_equal(put("trace_options", "noblock"), 0);
	assert_int_equal(s.mode, BUFFER_STREAM);
}

static void options(void **state)
{
	struct err err;

	assert_int_equal(put("trace_options", "funcgraph-proc nofuncgraph-cpu"), 0);
	shows("options/funcgraph-proc", "1\n");
	shows("options/funcgraph-cpu", "0\n");
	assert_int_equal(settings_write(&s, "trace_options", "funcgraph-cpu nosuch", false, &err),
			 -EINVAL);
	assert_int_equal(err.column, 14);
	shows("options/funcgraph-cpu", "0\n");
	assert_int_equal(put("options/funcgraph-cpu", "1"), 0);
	shows("options/funcgraph-cpu", "1\n");
}

/* Refused, not ignored; but what is already so may be said. */
static void options_without_effect(void **state)
{
	assert_int_equal(put("trace_options", "test_nop_refuse"), -EINVAL);
	assert_int_equal(put("trace_options", "notest_nop_refuse"), 0);
	assert_int_equal(put("options/sleep-time", "0"), 0);
	shows("options/sleep-time", "0\n");
	assert_int_equal(put("options/sleep-time", "1"), 0);
}

static void options_without_object(void **state)
{
	struct err err;

	assert_int_equal(put("options/hash-ptr", "0"), 0);
	shows("options/hash-ptr", "0\n");
	assert_int_equal(put("trace_options", "nofunction-trace display-graph test_nop_accept"), 0);
	shows("options/display-graph", "1\n");
	shows("options/test_nop_accept", "1\n");
	assert_int_equal(settings_write(&s, "options/test_nop_refuse", "1", false, &err), -EINVAL);
	assert_string_equal(err.text, "this option is there to be refused, as ftrace's is");
	assert_int_equal(put("trace_options", "hash-ptr test_nop_refuse"), -EINVAL);
	shows("options/hash-ptr", "0\n");
	assert_int_equal(put("options/test_nop_refuse", "0"), 0);
}

/* trace_options shows a tracer's own options only while it is the current one. */
static void options_of_the_tracer(void **state)
{
	char *text = settings_read(&s, "trace_options");

	assert_non_null(strstr(text, "\nnofuncgraph-tail\n"));
	assert_null(strstr(text, "func_stack_trace"));
	free(text);
	put("current_tracer", "function");
	text = settings_read(&s, "trace_options");
	assert_null(strstr(text, "funcgraph"));
	assert_non_null(strstr(text, "nofunc_stack_trace"));
	free(text);
}

static void buffer_size(void **state)
{
	assert_int_equal(put("buffer_size_kb", "64"), 0);
	shows("buffer_size_kb", "64\n");
	assert_int_equal(put("buffer_size_kb", "2M"), 0);
	shows("buffer_size_kb", "2048\n");
	assert_int_equal(put("buffer_size_kb", "1000000G"), -ENOMEM);
	shows("buffer_size_kb", "2048\n");
}

/* A missing row would leave programs as they were after a write, and say nothing. */
static void reach_of_files(void **state)
{
	assert_int_equal(settings_reach("tracing_on"), 0);
	assert_int_equal(settings_reach("max_graph_depth"), REACH_PROGRAMS | REACH_SELECTS);
	assert_int_equal(settings_reach("set_event"), REACH_PROGRAMS | REACH_SELDOM);
	assert_int_equal(settings_reach("stack_trace_filter"), REACH_COUNTS);
	assert_int_equal(settings_reach("options/event-fork"), REACH_PROGRAMS | REACH_SELDOM);
	assert_int_equal(settings_reach("options/sym-addr"), 0);
	assert_int_equal(settings_reach("options/no-such-option"), 0);
	assert_int_equal(settings_reach("no_such_file"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_after_boot), TEST(refused_as_by_the_kernel),
		TEST(unknown_and_read_only_files), TEST(every_file_reads_back), TEST(tracer),
		TEST(threshold), TEST(lists_append), TEST(modes), TEST(options),
		TEST(options_without_effect), TEST(options_without_object),
		TEST(options_of_the_tracer), TEST(buffer_size), TEST(reach_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
