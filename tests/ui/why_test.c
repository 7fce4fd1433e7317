/* Sentences about functions that are not there, on programs that gcc compiled. Which function is
 * inlined where is written in inlined.c; line numbers are read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hook/why.h"

static struct sym_module *with_debug, *without_debug, *stripped;

static struct sym_module *open_fixture(const char *variable)
{
	struct sym_module *m;
	struct err err;

	if (sym_open(getenv(variable), &m, &err))
		fail_msg("%s: %s", getenv(variable), err.text);
	return m;
}

static int setup(void **state)
{
	with_debug = open_fixture("INLINED_G");
	without_debug = open_fixture("INLINED");
	stripped = open_fixture("INLINED_STRIPPED");
	return 0;
}

static int teardown(void **state)
{
	sym_close(with_debug);
	sym_close(without_debug);
	sym_close(stripped);
	return 0;
}

/* The line of inlined.c with this remark. */
static int line_of(const char *remark)
{
	FILE *f = fopen(getenv("INLINED_C"), "r");
	char line[256];
	int n = 0, found = 0;

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		n++;
		found = strstr(line, remark) ? n : 0;
	}
	fclose(f);
	return found;
}

static char *why(const struct sym_module *m, const char *name, bool there)
{
	struct why w;
	struct err err;

	if (why_find(m, name, "thing", &w, &err))
		fail_msg("%s: %s", name, err.text);
	assert_int_equal(w.there, there);
	return w.sentence;
}

static void contains(const char *sentence, const char *piece)
{
	if (!sentence || !strstr(sentence, piece))
		fail_msg("\"%s\" is not in: %s", piece, sentence ? sentence : "nothing");
}

static void inlined_everywhere(void **state)
{
	char *s = why(with_debug, "everywhere", false), place[64];
	static const char *const callers[] = { "alpha", "beta", "gamma_" };

	contains(s, "`everywhere` is inlined: 3 copies, in");
	contains(s, "and no body of its own; trace the callers:");
	for (int i = 0; i < 3; i++) {
		char remark[64];

		snprintf(remark, sizeof(remark), "everywhere in %s", callers[i]);
		snprintf(place, sizeof(place), "%s() at inlined.c:%d", callers[i], line_of(remark));
		contains(s, place);
		snprintf(place, sizeof(place), " -l %s", callers[i]);
		contains(s, place);
	}
	free(s);
}

static void inlined_with_a_body(void **state)
{
	char *s = why(with_debug, "somewhere", true);

	contains(s, "`somewhere` is inlined: 1 copy, in beta() at inlined.c:");
	contains(s, ", and 1 body of its own");
	free(s);
}

static void all_there(void **state)
{
	assert_null(why(with_debug, "not_inlined", true));
	assert_null(why(without_debug, "not_inlined", true));
}

static void no_debug_information(void **state)
{
	char *s = why(without_debug, "everywhere", false);

	contains(s, "there is no function `everywhere` in ");
	contains(s, "cannot know whether it was inlined: no debug information (install "
		    "thing-dbgsym, or build with -g)");
	free(s);
	s = why(stripped, "alpha", false);
	contains(s, "no debug information");
	free(s);
}

static void near_names(void **state)
{
	char *s = why(with_debug, "not_inlind", false);

	contains(s, "there is no function `not_inlind` in ");
	contains(s, "nearest names: not_inlined");
	assert_null(strstr(s, "debug information"));
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_everywhere), cmocka_unit_test(inlined_with_a_body),
		cmocka_unit_test(all_there), cmocka_unit_test(no_debug_information),
		cmocka_unit_test(near_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
