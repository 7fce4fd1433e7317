/* SPDX-License-Identifier: MIT */
/* Pages of a real kernel, printed: equal to the text that this kernel printed of the same pages. */
#include "../store/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernel/tracefs.h"
#include "model/option.h"
#include "model/settings.h"
#include "text.h"

static uint64_t usual_options(void)
{
	struct settings s;
	uint64_t options;

	settings_init(&s);
	options = s.options;
	settings_free(&s);
	return options;
}

/* Shows the first line that differs. */
static void assert_text(const char *got, const char *wanted)
{
	size_t line = 1, at = 0;

	for (; got[at] && got[at] == wanted[at]; at++)
		line += got[at] == '\n';
	if (!got[at] && !wanted[at])
		return;
	while (at && got[at - 1] != '\n')
		at--;
	fail_msg("line %zu is\n%.*s\ninstead of\n%.*s", line, (int)strcspn(got + at, "\n"), got + at,
		 (int)strcspn(wanted + at, "\n"), wanted + at);
}

static void compare(const char *file, uint64_t options)
{
	char *wanted = kernel_tracefs_read(GOLDEN, file), *got = kernel_text(GOLDEN, options);

	assert_non_null(wanted);
	assert_text(got, wanted);
	free(got);
	free(wanted);
}

static void prints_as_the_kernel(void **state)
{
	compare("trace", usual_options());
}

static void hides_interrupts(void **state)
{
	compare("trace.noirqs", usual_options() & ~OPTION_BIT(OPTION_GRAPH_IRQS));
}

static void prints_tasks_and_tails(void **state)
{
	compare("trace.proc", usual_options() | OPTION_BIT(OPTION_GRAPH_PROC) |
				      OPTION_BIT(OPTION_GRAPH_TAIL) |
				      OPTION_BIT(OPTION_GRAPH_ABSTIME));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_as_the_kernel),
		cmocka_unit_test(hides_interrupts),
		cmocka_unit_test(prints_tasks_and_tails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
