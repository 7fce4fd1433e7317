/* glob_match against glibc's fnmatch, which we did not write, on every short pattern of a small
 * alphabet; and the few places where ftrace's language differs from fnmatch's. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/glob.h"

/* The n-th string over the alphabet, shortest first. */
static void nth(unsigned n, const char *alphabet, char *out)
{
	size_t base = strlen(alphabet);
	char reversed[16];
	size_t k = 0;

	for (; n; n = (unsigned)((n - 1) / base))
		reversed[k++] = alphabet[(n - 1) % base];
	for (size_t i = 0; i < k; i++)
		out[i] = reversed[k - 1 - i];
	out[k] = '\0';
}

static void compare(const char *pattern, const char *s)
{
	bool want = !fnmatch(pattern, s, 0);

	if (glob_match(pattern, s) != want)
		fail_msg("%s %s: fnmatch says %d", pattern, s, want);
}

static void stars_as_fnmatch(void **state)
{
	char pattern[16], s[16];

	for (unsigned p = 0; p < 1365; p++) {
		nth(p, "ab*?", pattern);
		for (unsigned i = 0; i < 255; i++) {
			nth(i, "ab", s);
			compare(pattern, s);
		}
	}
}

static void classes_as_fnmatch(void **state)
{
	static const char *const patterns[] = {
		"[a]", "[ab]c", "[!a]", "[!ab]*", "[a-c]x", "[!a-c]", "[]a]", "[!]a]", "[a-]",
		"*[a-c]*", "[a-cx-z]?", "\\*", "\\[a]", "a\\?b", "[-a]", "*[!b]",
	};
	char s[16];

	for (size_t p = 0; p < sizeof(patterns) / sizeof(*patterns); p++) {
		for (unsigned i = 0; i < 5000; i++) {
			nth(i, "abcx]-*[", s);
			compare(patterns[p], s);
		}
	}
}

/* The kernel takes an unclosed [ for itself; so does fnmatch, but say it. */
static void unclosed_class_is_literal(void **state)
{
	assert_true(glob_match("a[b", "a[b"));
	assert_false(glob_match("a[b", "ab"));
	assert_true(glob_match("[", "["));
	assert_true(glob_match("[!", "[!"));
}

/* The classic that makes recursive matchers take exponential time. */
static void no_explosion(void **state)
{
	char pattern[512] = "", s[2048];

	for (int i = 0; i < 100; i++)
		strcat(pattern, "a*");
	strcat(pattern, "b");
	memset(s, 'a', sizeof(s) - 1);
	s[sizeof(s) - 1] = '\0';
	assert_false(glob_match(pattern, s));
}

static void plain_names(void **state)
{
	assert_true(glob_is_name("main"));
	assert_true(glob_is_name(""));
	assert_false(glob_is_name("m*"));
	assert_false(glob_is_name("m?in"));
	assert_false(glob_is_name("m[a]in"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stars_as_fnmatch), cmocka_unit_test(classes_as_fnmatch),
		cmocka_unit_test(unclosed_class_is_literal), cmocka_unit_test(no_explosion),
		cmocka_unit_test(plain_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
