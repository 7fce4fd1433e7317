/* The option parser on the real tables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ui/invocation.h"

static struct invocation inv;
static struct err err;

static int setup(void **state)
{
	memset(&inv, 0, sizeof(inv));
	memset(&err, 0, sizeof(err));
	settings_init(&inv.settings);
	return 0;
}

static int teardown(void **state)
{
	invocation_free(&inv);
	return 0;
}

#define MAX_ARGS 32
static char *args[MAX_ARGS];

/* parse("record", "-l", "x", NULL) */
static int parse(const char *command, ...)
{
	va_list ap;
	int n = 0;

	va_start(ap, command);
	while (n < MAX_ARGS - 1 && (args[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	args[n] = NULL;
	inv.command = command_find(command);
	return invocation_parse(&inv, args, &err);
}

static void shows(const char *file, const char *want)
{
	char *got = settings_read(&inv.settings, file);

	assert_string_equal(got, want);
	free(got);
}

static void every_spelling(void **state)
{
	assert_int_equal(parse("record", "-l", "a", "-lb", "--filter", "c", "--filter=d", "prog",
			       NULL), 0);
	assert_int_equal(invocation_settings(&inv, &err), 0);
	shows("set_ftrace_filter", "a\nb\nc\nd\n");
	assert_int_equal(inv.n_operands, 1);
	assert_string_equal(inv.operands[0], "prog");
}

static void letters_together(void **state)
{
	assert_int_equal(parse("record", "-qo", "file", "-qvlx", "prog", NULL), 0);
	assert_true(inv.quiet);
	assert_true(inv.verbose);
	assert_string_equal(inv.output, "file");
	assert_int_equal(inv.writes.n, 1);
	assert_string_equal(inv.writes.at[0].text, "x");
}

/* The program's own options are not ours, with or without --. */
static void program_ends_options(void **state)
{
	assert_int_equal(parse("record", "-q", "ls", "-l", "--color", "--", "x", NULL), 0);
	assert_int_equal(inv.n_operands, 5);
	assert_string_equal(inv.operands[1], "-l");
	assert_string_equal(inv.operands[3], "--");
	assert_null(inv.operands[5]);
	assert_int_equal(inv.writes.n, 0);
}

static void dashes_end_options(void **state)
{
	assert_int_equal(parse("record", "--", "-l", "x", NULL), 0);
	assert_int_equal(inv.n_operands, 2);
	assert_string_equal(inv.operands[0], "-l");
}

static void operands_between_options(void **state)
{
	assert_int_equal(parse("report", "file", "--json", "a*", "-s", "self", "b*", NULL), 0);
	assert_int_equal(inv.n_operands, 3);
	assert_string_equal(inv.operands[2], "b*");
	assert_true(inv.json);
	assert_string_equal(inv.sort, "self");
}

static void each_setting(void **state)
{
	assert_int_equal(parse("record", "-p", "function", "-n", "no", "-g", "graph", "-L", "libc",
			       "--max-graph-depth=3", "--threshold", "5us", "-b", "1M", "--mode",
			       "block", "p", NULL), 0);
	if (invocation_settings(&inv, &err))
		fail_msg("%s", err.text);
	shows("current_tracer", "function\n");
	shows("set_ftrace_notrace", "no\n");
	shows("set_graph_function", "graph\n");
	shows("set_ftrace_module", "libc\n");
	shows("max_graph_depth", "3\n");
	shows("tracing_thresh", "5\n");
	shows("buffer_size_kb", "1024\n");
	assert_int_equal(inv.settings.mode, BUFFER_BLOCK);
}

struct refusal { const char *args[6]; const char *says; };

static void refusals(void **state)
{
	static const struct refusal table[] = {
		{ { "--fitler", "x" }, "did you mean --filter?" },
		{ { "--frobnicate" }, "`brace record --help` lists them" },
		{ { "-Z" }, "no option -Z" },
		{ { "-q" }, "record needs PROGRAM" },
		{ { "-l" }, "-l needs an argument: GLOB" },
		{ { "--mode" }, "--mode needs an argument: MODE" },
		{ { "--quiet=yes", "p" }, "--quiet takes no argument" },
		{ { "--mode", "sideways", "p" }, "stream, overwrite or block" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const char *const *a = table[i].args;

		setup(NULL);
		assert_int_equal(parse("record", a[0], a[1], a[2], a[3], NULL), -EINVAL);
		if (!strstr(err.text, table[i].says))
			fail_msg("%s: %s", a[0], err.text);
		teardown(NULL);
	}
	setup(NULL);
}

/* An error in a setting names the option as it is written, and points into its value. */
static void setting_errors(void **state)
{
	assert_int_equal(parse("record", "-b", "12Q", "p", NULL), 0);
	assert_int_equal(invocation_settings(&inv, &err), -EINVAL);
	assert_int_equal(strncmp(err.text, "-b: a size is", 13), 0);
	assert_string_equal(err.input, "12Q");
	assert_int_equal(err.column, 2);
}

static void too_many_operands(void **state)
{
	assert_int_equal(parse("replay", "a", "b", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "unexpected argument: b"));
}

static void commands_nearby(void **state)
{
	assert_string_equal(command_nearest("recrd"), "record");
	assert_string_equal(command_nearest("reprot"), "report");
	assert_null(command_nearest("frobnicate"));
	assert_null(command_find("recrd"));
}

/* No two options of a command share a letter or a name. */
static void tables_are_unambiguous(void **state)
{
	for (const struct command *c = commands; c->name; c++) {
		bool letters[256] = { false };

		for (const struct option *const *t = c->tables; *t; t++) {
			for (const struct option *o = *t; o->set; o++) {
				assert_non_null(o->name);
				assert_true(!o->letter || !letters[(unsigned char)o->letter]);
				letters[(unsigned char)o->letter] = true;
				assert_true(strlen(o->help) > 0);
			}
		}
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_spelling), TEST(letters_together), TEST(program_ends_options),
		TEST(dashes_end_options), TEST(operands_between_options), TEST(each_setting),
		TEST(refusals), TEST(setting_errors), TEST(too_many_operands),
		TEST(commands_nearby), TEST(tables_are_unambiguous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
