/* What a helper prints: all of it, or whole records up to a bound; nothing of one that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ui/run_helper.h"

static struct helper_text shell(const char *script, size_t most, const char *end)
{
	return run_helper((const char *const[]){ "sh", "-c", script, NULL }, most, end);
}

static void assert_text(struct helper_text out, const char *text, bool cut)
{
	assert_non_null(out.text);
	assert_string_equal(out.text, text);
	assert_int_equal(out.cut, cut);
	free(out.text);
}

static void test_whole(void **state)
{
	assert_text(shell("printf 'a b\\nc'", 100, "\n"), "a b\nc", false);
	assert_text(shell("printf 'a b\\nc'", 5, "\n"), "a b\nc", false);
	assert_text(shell("echo no >&2", 100, "\n"), "", false);
	assert_text(run_helper_errors((const char *const[]){ "sh", "-c", "echo no >&2; echo yes", NULL },
				      100, "\n"), "no\n", false);
}

static void test_failures(void **state)
{
	assert_null(shell("echo a; exit 1", 100, "\n").text);
	assert_null(shell("echo a; kill -9 $$", 100, "\n").text);
	assert_null(run_helper((const char *const[]){ "/nowhere/at-all", NULL }, 100, "\n").text);
}

/* A helper that never ends by itself, also one that a broken pipe does not end. */
static void test_endless(void **state)
{
	struct helper_text out = shell("exec yes 'a line'", 1 << 20, "\n");

	assert_true(out.cut);
	assert_int_equal(strlen(out.text), (1 << 20) / 7 * 7);
	free(out.text);
	assert_text(shell("trap '' PIPE; echo first; while :; do echo 1234567; done 2>&-", 10, "\n"),
		    "first\n", true);
}

/* Of records of several lines the last whole one is kept. */
static void test_records(void **state)
{
	const char *script = "printf 'a 1\\n b\\n\\na 2\\n b\\n c\\n d\\n\\n'";

	assert_text(shell(script, 15, "\n\n"), "a 1\n b\n\n", true);
	assert_text(shell(script, 15, "\n"), "a 1\n b\n\na 2\n b\n", true);
	assert_text(shell(script, 5, "\n\n"), "", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_endless), cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
