/* Times, sizes and numbers: values, limits, and the column an error points at. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/units.h"

struct good { const char *text; uint64_t value; };
struct bad { const char *text; int code; size_t column; };

static void times(void **state)
{
	static const struct good table[] = {
		{ "0", 0 }, { "7", 7000 }, { "7us", 7000 }, { "300ns", 300 }, { "2ms", 2000000 },
		{ "3s", 3000000000 }, { "1.5ms", 1500000 }, { "0.25us", 250 }, { "0.0015ms", 1500 },
		{ "1.", 1000 }, { "0.1239us", 123 }, { "18446744073s", 18446744073000000000u },
		{ "30d", 2592000000000000 },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(units_parse_time_ns(table[i].text, 1000, &v, NULL), 0);
		assert_int_equal(v, table[i].value);
	}
}

static void bad_times(void **state)
{
	static const struct bad table[] = {
		{ "", EINVAL, 0 }, { "us", EINVAL, 0 }, { "-1us", EINVAL, 0 }, { "10xs", EINVAL, 2 },
		{ "10 us", EINVAL, 2 }, { "10US", EINVAL, 2 }, { "1.5.5ms", EINVAL, 3 },
		{ "99999999999999999999", ERANGE, 0 }, { "18446744074s", ERANGE, 0 },
	};
	struct err err;
	uint64_t v = 42;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(units_parse_time_ns(table[i].text, 1000, &v, &err),
				 -table[i].code);
		assert_int_equal(err.column, table[i].column);
		assert_non_null(strstr(err.text, "a time is a number with ns, us, ms or s"));
	}
}

static void sizes(void **state)
{
	static const struct good table[] = {
		{ "1", 1 }, { "64K", 64 }, { "64k", 64 }, { "64KB", 64 }, { "4M", 4096 },
		{ "4mb", 4096 }, { "1G", 1048576 }, { "0.5M", 512 }, { "1.5G", 1572864 },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(units_parse_size_kb(table[i].text, &v, NULL), 0);
		assert_int_equal(v, table[i].value);
	}
}

static void bad_sizes(void **state)
{
	static const struct bad table[] = {
		{ "", EINVAL, 0 }, { "M", EINVAL, 0 }, { "0", EINVAL, 0 }, { "0.1K", EINVAL, 0 },
		{ "64X", EINVAL, 2 }, { "64 K", EINVAL, 2 }, { "-5", EINVAL, 0 },
		{ "18446744073709551616", ERANGE, 0 }, { "18446744073709551615G", ERANGE, 0 },
	};
	struct err err;
	uint64_t v;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(units_parse_size_kb(table[i].text, &v, &err), -table[i].code);
		assert_int_equal(err.column, table[i].column);
	}
}

static void numbers(void **state)
{
	struct err err;
	uint64_t v;

	assert_int_equal(units_parse_number("12", "N", 0, 12, &v, &err), 0);
	assert_int_equal(v, 12);
	assert_int_equal(units_parse_number("13", "N", 0, 12, &v, &err), -ERANGE);
	assert_int_equal(units_parse_number("0", "N", 1, 12, &v, &err), -ERANGE);
	assert_int_equal(units_parse_number("1x", "N", 0, 12, &v, &err), -EINVAL);
	assert_int_equal(err.column, 1);
	assert_string_equal(err.text, "N is a number from 0 to 12");
	assert_int_equal(units_parse_number("", "N", 0, 12, &v, &err), -EINVAL);
	assert_int_equal(units_parse_number("99999999999999999999", "N", 0, 12, &v, &err), -ERANGE);
}

/* The text that tracing_thresh shows can be written to it again. */
static void thresh_round_trip(void **state)
{
	static const uint64_t values[] = { 0, 1, 999, 1000, 1001, 2500000, UINT64_MAX };
	char buf[32];
	uint64_t v;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		assert_int_equal(
			units_parse_time_ns(units_format_thresh(values[i], buf), 1000, &v, NULL),
			0);
		assert_int_equal(v, values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times), cmocka_unit_test(bad_times), cmocka_unit_test(sizes),
		cmocka_unit_test(bad_sizes), cmocka_unit_test(numbers),
		cmocka_unit_test(thresh_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
