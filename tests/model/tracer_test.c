/* The numbers of tracers: a session memory of an earlier brace has them, so none ever changes, and
 * each tracer has one of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/tracer.h"

static void numbers_stay(void **state)
{
	/* As the first brace with MEMORY_VERSION 14 wrote them, by its order of the table. */
	static const char *const names[] = { "timerlat",  "osnoise",   "hwlat",
					     "function_graph", "wakeup_dl", "wakeup_rt",
					     "wakeup",    "function",  "nop" };

	(void)state;
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_non_null(tracer_numbered(i + 1));
		assert_string_equal(tracer_numbered(i + 1)->name, names[i]);
	}
	assert_null(tracer_numbered(0));
	assert_null(tracer_numbered(UINT32_MAX));
}

/* tracer_numbered() finds the first row with a number: the row itself, unless two have one. */
static void each_has_its_own(void **state)
{
	char *names = tracer_names(), *at = NULL;
	unsigned n = 0;

	(void)state;
	for (char *name = strtok_r(names, " ", &at); name; name = strtok_r(NULL, " ", &at)) {
		const struct tracer *t = tracer_find(name);

		assert_non_null(t);
		assert_int_not_equal(t->number, 0);
		assert_ptr_equal(tracer_numbered(t->number), t);
		n++;
	}
	assert_true(n >= 9);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stay),
		cmocka_unit_test(each_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
