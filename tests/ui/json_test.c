/* json_string: what it writes for every byte, checked by rules of RFC 8259 and 3629 written out
 * here the long way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static char written[256];
static size_t n_written;

static int keep(void *arg, const char *bytes, size_t n)
{
	assert_true(n_written + n < sizeof(written));
	memcpy(written + n_written, bytes, n);
	n_written += n;
	written[n_written] = '\0';
	return 0;
}

static const char *json(const char *s)
{
	struct out o;

	n_written = 0;
	out_init(&o, keep, NULL);
	json_string(&o, s);
	out_flush(&o);
	out_free(&o);
	return written;
}

static void plain(void **state)
{
	assert_string_equal(json("main"), "\"main\"");
	assert_string_equal(json(""), "\"\"");
	assert_string_equal(json(NULL), "null");
}

static void escapes(void **state)
{
	assert_string_equal(json("a\"b\\c"), "\"a\\\"b\\\\c\"");
	assert_string_equal(json("\n\x01\x1f\x7f"), "\"\\u000a\\u0001\\u001f\\u007f\"");
	assert_string_equal(json("\xc2\x80\xc2\x9b\xe2\x80\xae"), "\"\\u0080\\u009b\\u202e\"");
	assert_string_equal(json("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
}

static void good_utf8(void **state)
{
	static const char *const good[] = {
		"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbf", "\xed\x9f\xbf",
		"\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80", "\xc2\xa0",
	};
	char want[32];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(want, sizeof(want), "\"%s\"", good[i]);
		assert_string_equal(json(good[i]), want);
	}
}

/* Overlong forms, surrogates, beyond U+10FFFF, lone and missing continuation bytes. */
static void bad_utf8(void **state)
{
	static const struct { const char *text, *want; } bad[] = {
		{ "\xc0\x80", "\"\\ufffd\\ufffd\"" },
		{ "\xc1\xbf", "\"\\ufffd\\ufffd\"" },
		{ "\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\x80", "\"\\ufffd\"" },
		{ "\xe2\x82", "\"\\ufffd\\ufffd\"" },
		{ "\xc3", "\"\\ufffd\"" },
		{ "\xc3x", "\"\\ufffdx\"" },
		{ "\xff\xfe", "\"\\ufffd\\ufffd\"" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_string_equal(json(bad[i].text), bad[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(escapes), cmocka_unit_test(good_utf8),
		cmocka_unit_test(bad_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
