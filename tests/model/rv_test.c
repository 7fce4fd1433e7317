/* The files of rv/ as text: what they show, what they take, and that a refused write changes
 * nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/rv.h"
#include "model/settings.h"

static void shows(const struct settings *s, const char *file, const char *want)
{
	char *text = settings_read(s, file);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static int writes(struct settings *s, const char *file, const char *text, bool append)
{
	struct err err = { 0 };

	return settings_write(s, file, text, append, &err);
}

static void as_after_boot(void **state)
{
	struct settings s;

	(void)state;
	settings_init(&s);
	shows(&s, "rv/available_monitors", "ebadf\n");
	shows(&s, "rv/enabled_monitors", "");
	shows(&s, "rv/available_reactors", "nop\nprintk\nsnapshot\nstop\ntraceoff\n");
	shows(&s, "rv/monitoring_on", "1\n");
	shows(&s, "rv/reacting_on", "1\n");
	shows(&s, "rv/monitors/ebadf/enable", "0\n");
	shows(&s, "rv/monitors/ebadf/reactors", "[nop]\nprintk\nsnapshot\nstop\ntraceoff\n");
	assert_false(rv_watches_any(&s.rv));
	settings_free(&s);
}

static void written(void **state)
{
	struct settings s;

	(void)state;
	settings_init(&s);
	assert_int_equal(writes(&s, "rv/enabled_monitors", "ebadf\n", true), 0);
	assert_true(rv_watches(&s.rv, RV_EBADF) && rv_watches_any(&s.rv));
	shows(&s, "rv/monitors/ebadf/enable", "1\n");
	assert_int_equal(writes(&s, "rv/monitoring_on", "0\n", false), 0);
	assert_false(rv_watches_any(&s.rv));
	shows(&s, "rv/enabled_monitors", "ebadf\n");
	assert_int_equal(writes(&s, "rv/enabled_monitors", "!ebadf", true), 0);
	shows(&s, "rv/enabled_monitors", "");
	assert_int_equal(writes(&s, "rv/monitors/ebadf/enable", "1", false), 0);
	assert_int_equal(writes(&s, "rv/enabled_monitors", "", false), 0);
	shows(&s, "rv/monitors/ebadf/enable", "0\n");
	assert_int_equal(writes(&s, "rv/monitors/ebadf/reactors", "stop", false), 0);
	shows(&s, "rv/monitors/ebadf/reactors", "nop\nprintk\nsnapshot\n[stop]\ntraceoff\n");
	settings_free(&s);
}

/* As rv.c, rv_reactors.c and kstrtobool() of Linux 6.12 take them. */
static void words(void **state)
{
	static const struct { const char *text, *shown; } all[] = {
		{ "n", "0\n" }, { "y\n", "1\n" }, { "off", "0\n" }, { "on", "1\n" },
		{ "f", "0\n" }, { "t", "1\n" }, { "No", "0\n" }, { "Yes\n", "1\n" },
		{ "OFF", "0\n" }, { "ON", "1\n" }, { "0x", "0\n" }, { "1 0", "1\n" },
		{ "False", "0\n" }, { "True", "1\n" },
	};
	static const char *const files[] = { "rv/monitoring_on", "rv/reacting_on",
					     "rv/monitors/ebadf/enable" };
	struct settings s;

	(void)state;
	settings_init(&s);
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			assert_int_equal(writes(&s, files[f], all[i].text, false), 0);
			shows(&s, files[f], all[i].shown);
		}
	assert_int_equal(writes(&s, "rv/enabled_monitors", "!\n", true), 0);
	shows(&s, "rv/enabled_monitors", "ebadf\n");
	assert_int_equal(writes(&s, "rv/enabled_monitors", "!\n", false), 0);
	shows(&s, "rv/enabled_monitors", "");
	assert_int_equal(writes(&s, "rv/monitors/ebadf/reactors", " printk\n", false), 0);
	assert_int_equal(writes(&s, "rv/monitors/ebadf/reactors", "\n", false), 0);
	shows(&s, "rv/monitors/ebadf/reactors", "nop\n[printk]\nsnapshot\nstop\ntraceoff\n");
	settings_free(&s);
}

static void refused(void **state)
{
	static const struct { const char *file, *text; size_t column; } wrong[] = {
		{ "rv/enabled_monitors", "nosuch", 0 }, { "rv/enabled_monitors", "!nosuch", 1 },
		{ "rv/enabled_monitors", "! ebadf", 1 }, { "rv/monitors/ebadf/enable", "2", 0 },
		{ "rv/monitors/ebadf/reactors", "panic", 0 }, { "rv/monitoring_on", "okay", 0 },
		{ "rv/reacting_on", "", 0 }, { "rv/reacting_on", " 0", 0 },
		{ "rv/monitoring_on", "o", 0 }, { "rv/monitoring_on", "enabled", 0 }, { "rv/monitors/ebadf/enable", "-1", 0 },
	};
	struct settings s;
	struct err err;

	(void)state;
	settings_init(&s);
	assert_int_equal(writes(&s, "rv/enabled_monitors", "ebadf", false), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		err = (struct err){ 0 };
		assert_int_equal(settings_write(&s, wrong[i].file, wrong[i].text, false, &err), -EINVAL);
		assert_int_equal(err.column, wrong[i].column);
		shows(&s, "rv/enabled_monitors", "ebadf\n");
	}
	assert_int_equal(writes(&s, "rv/monitors/ebadf/desc", "x", false), -EACCES);
	assert_int_equal(writes(&s, "rv/monitors/nosuch/enable", "1", false), -ENOENT);
	settings_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_after_boot),
		cmocka_unit_test(written),
		cmocka_unit_test(words),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
