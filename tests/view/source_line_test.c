/* Where a trace's source is found: itself, or below the working directory. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "view/source_line.h"

static void finds(const char *path, const char *want)
{
	char *found = source_line_file(path);

	if (want)
		assert_string_equal(found ? found : "(none)", want);
	else
		assert_null(found);
	free(found);
}

/* In a directory with src/a.c alone; its path is longer than any of the others. */
static void test_ends_of_paths(void **state)
{
	char here[] = "/tmp/brace-source.XXXXXX", whole[64];

	assert_non_null(mkdtemp(here));
	assert_int_equal(chdir(here), 0);
	assert_int_equal(mkdir("src", 0700), 0);
	close(open("src/a.c", O_CREAT | O_WRONLY, 0600));
	snprintf(whole, sizeof(whole), "%s/src/a.c", here);
	finds(whole, whole);
	finds("/nowhere/else/src/a.c", "./src/a.c");
	finds("/nowhere/build/../src/a.c", "./src/a.c");
	finds("/nowhere/x/../../../..//./src/./a.c", "./src/a.c");
	finds("/src/..a.c", NULL);
	/* A directory is no source, nor what a path without a beginning says. */
	finds("/nowhere/src", NULL);
	finds("src/a.c", NULL);
	finds("/nowhere/..", NULL);
	finds("/..", NULL);
	finds("/", NULL);
	finds("", NULL);
	unlink("src/a.c");
	rmdir("src");
	assert_int_equal(chdir("/"), 0);
	rmdir(here);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ends_of_paths) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
