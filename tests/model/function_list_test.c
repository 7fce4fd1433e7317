/* Function lists: what a list of words takes, what can be read back, where errors point. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/function_list.h"

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"

/* Whether a list written from text takes the function. */
static bool takes(const char *text, const char *name, const char *module)
{
	struct function_list l = { 0 };
	struct err err;
	bool taken;

	if (function_list_write(&l, text, false, &err))
		fail_msg("%s: %s", text, err.text);
	taken = function_list_match(&l, name, module);
	function_list_free(&l);
	return taken;
}

static void empty_matches_nothing(void **state)
{
	assert_false(takes("", "main", NULL));
	assert_false(takes("  \n ", "main", NULL));
}

static void several_words(void **state)
{
	assert_true(takes("read write", "write", NULL));
	assert_true(takes("read\nwri*\n", "write", NULL));
	assert_false(takes("read write", "readwrite", NULL));
}

static void modules(void **state)
{
	static const char *const yes[] = {
		"malloc@libc.so.6", "malloc@libc.so", "malloc@libc", "malloc@libc*",
		"malloc@" LIBC, "malloc@*/libc.so.6", "malloc:mod:libc.so.6", "mal*:mod:libc",
		":mod:libc", "@libc", "*@libc", "malloc:mod:!libm.so.6", "malloc@!libm",
	};
	static const char *const no[] = {
		"malloc@libm", "malloc@libc.so.5", "malloc:mod:!libc", "@lib", ":mod:libcrypto*",
		"free@libc",
	};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!takes(yes[i], "malloc", LIBC))
			fail_msg("%s does not take malloc of %s", yes[i], LIBC);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (takes(no[i], "malloc", LIBC))
			fail_msg("%s takes malloc of %s", no[i], LIBC);
}

/* Go and Rust have names with colons; they are names, not ftrace's commands. */
static void colons_in_names(void **state)
{
	assert_true(takes("type:.eq.runtime.g", "type:.eq.runtime.g", NULL));
	assert_true(takes("core::fmt::write", "core::fmt::write", NULL));
	assert_true(takes("core::fmt::*:mod:rg", "core::fmt::write", "/usr/bin/rg"));
	assert_true(takes("Trace::dump", "Trace::dump", NULL));
}

static void blanks_in_names(void **state)
{
	assert_true(takes("(anonymous namespace)::f", "(anonymous namespace)::f", NULL));
	assert_true(takes("a map<int, b<char> >::at c", "map<int, b<char> >::at", NULL));
	assert_true(takes("a map<int, b<char> >::at c", "c", NULL));
	assert_true(takes("operator< other", "other", NULL));
	assert_true(takes("operator?new", "operator new", NULL));
}

/* A library answers to every name that links to it. */
static void operators(void **state)
{
	assert_true(takes("operator new", "operator new", NULL));
	assert_false(takes("operator new", "operator", NULL));
	assert_false(takes("operator new", "new", NULL));
	assert_true(takes("f operator delete[](void*) g", "operator delete[](void*)", NULL));
	assert_true(takes("f operator delete[](void*) g", "g", NULL));
	assert_true(takes("A::operator unsigned long() const f", "A::operator unsigned long() const",
			  NULL));
	assert_true(takes("operator< f", "f", NULL));
	assert_true(takes("operators new", "new", NULL));
	assert_true(takes("f std::operator<< <char> g", "std::operator<< <char>", NULL));
	assert_true(takes("f std::operator<< <char> g", "g", NULL));
	assert_true(takes("std::operator-> <a b>(int) g", "g", NULL));
	assert_true(takes("a<&b::operator> > g", "g", NULL));
	assert_true(takes("operator<", "operator<", NULL));
	assert_true(takes("non-virtual thunk to C::b() g", "non-virtual thunk to C::b()", NULL));
	assert_true(takes("non-virtual thunk to C::b() g", "g", NULL));
	assert_true(takes("closure #1 in closure #12 in shop.f g", "g", NULL));
	assert_true(takes("f inner #1 in shop.f", "inner #1 in shop.f", NULL));
	assert_true(takes("shop.f(_: Int, to: Int) throws -> Int g", "g", NULL));
	assert_true(takes("closure # in f", "closure", NULL));
	assert_true(takes("D main g", "D main", NULL));
	assert_false(takes("D main g", "main", NULL));
}

static void versions(void **state)
{
	static const char *const names[] = {
		"libz.so.1.2.13", "libz.so.1.2", "libz.so.1", "libz.so", "libz", "libz*",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(function_module_match(names[i], "/usr/lib/libz.so.1.2.13"));
	assert_false(function_module_match("libz.so.1.3", "/usr/lib/libz.so.1.2.13"));
	assert_false(function_module_match("lib", "/usr/lib/libz.so.1.2.13"));
	assert_true(function_module_match("python3.11", "/usr/bin/python3.11"));
	assert_false(function_module_match("python3", "/usr/bin/python3.11"));
}

static void removal(void **state)
{
	assert_false(takes("ab* !abc", "abc", NULL));
	assert_true(takes("ab* !abc", "abd", NULL));
	assert_true(takes("ab* !abc abc", "abc", NULL));
	assert_false(takes("abc abd !ab*", "abd", NULL));
	assert_false(takes("malloc !malloc@libc", "malloc", LIBC));
	assert_true(takes("malloc !malloc@libc", "malloc", "/usr/bin/x"));
	assert_false(takes("* !:mod:libc", "malloc", LIBC));
}

/* The readable names, as a list of words. */
static void reads_as(const char *write, const char *append, const char *want)
{
	struct function_list l = { 0 };
	char *got;

	assert_int_equal(function_list_write(&l, write, false, NULL), 0);
	if (append)
		assert_int_equal(function_list_write(&l, append, true, NULL), 0);
	got = function_list_read(&l, "none\n");
	assert_string_equal(got, want);
	free(got);
	function_list_free(&l);
}

static void read_back(void **state)
{
	reads_as("", NULL, "none\n");
	reads_as("b a", "c", "b\na\nc\n");
	reads_as("a b c", "!b", "a\nc\n");
	reads_as("a b c", "!*", "none\n");
	reads_as("a* b", "!ab", "a*\nb\n!ab\n");
	reads_as("a*", "!a*", "none\n");
	reads_as("f@m", "!f@m", "none\n");
	reads_as("x:mod:m", NULL, "x:mod:m\n");
}

/* Truncating writes replace, and a failed write changes nothing. */
static void writes(void **state)
{
	struct function_list l = { 0 };
	char *got;

	assert_int_equal(function_list_write(&l, "one", false, NULL), 0);
	assert_int_equal(function_list_write(&l, "two", false, NULL), 0);
	assert_int_equal(function_list_write(&l, "three four:mod:", true, NULL), -EINVAL);
	assert_int_equal(function_list_write(&l, "!", false, NULL), -EINVAL);
	got = function_list_read(&l, "");
	assert_string_equal(got, "two\n");
	free(got);
	function_list_free(&l);
}

struct bad { const char *text; size_t column; const char *says; };

static void errors_point(void **state)
{
	static const struct bad table[] = {
		{ "!", 1, "name is missing" },
		{ "abc !", 5, "name is missing" },
		{ "a:mod:", 6, "module name is missing" },
		{ "a@", 2, "module name is missing" },
		{ "a:mod:!", 7, "module name is missing" },
		{ "12", 0, "by its number" },
		{ "a 12", 2, "by its number" },
		{ "!abc", 0, "the list is empty" },
		{ "read:traceoff", 5, "commands such as `traceoff`" },
		{ "x read:traceoff:5", 7, "commands" },
	};
	struct err err;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct function_list l = { 0 };

		assert_int_equal(function_list_write(&l, table[i].text, false, &err), -EINVAL);
		if (!strstr(err.text, table[i].says))
			fail_msg("%s: %s", table[i].text, err.text);
		assert_string_equal(err.input, table[i].text);
		assert_int_equal(err.column, table[i].column);
		assert_int_equal(l.patterns.n, 0);
	}
}

/* To the end of the line, whatever is in it. */
static void conditions(void **state)
{
	struct function_list l = { 0 };
	struct err err;
	char *text;

	assert_int_equal(function_list_write(&l, "a if n > 3 && s ~ \"if b:traceon *\" \nb\nlif c",
					     false, &err), 0);
	assert_int_equal(l.patterns.n, 4);
	assert_string_equal(l.patterns.at[0].condition, "n > 3 && s ~ \"if b:traceon *\"");
	assert_string_equal(l.patterns.at[0].glob, "a");
	assert_null(l.patterns.at[1].condition);
	assert_string_equal(l.patterns.at[2].glob, "lif");
	text = function_list_read(&l, "");
	assert_string_equal(text, "a if n > 3 && s ~ \"if b:traceon *\"\nb\nlif\nc\n");
	free(text);
	assert_int_equal(function_list_write(&l, "a", true, &err), 0);
	assert_null(function_list_find(&l, "a", NULL)->condition);
	assert_int_equal(function_list_write(&l, "a if (x == -1 || x == 18446744073709551615)",
					     false, &err), -EINVAL);
	assert_int_equal(function_list_write(&l, "operator< if x & 1", false, &err), 0);
	assert_string_equal(l.patterns.at[0].condition, "x & 1");
	assert_true(function_list_has_conditions(&l));
	function_list_free(&l);
	assert_int_equal(function_list_refuse_conditions("a b\nc if x", &err), -EINVAL);
	assert_int_equal(err.column, 6);
	assert_int_equal(function_list_refuse_conditions("a if\tb", &err), -EINVAL);
	assert_int_equal(function_list_refuse_conditions("a iff b", &err), 0);
}

static void module_lists(void **state)
{
	struct function_list l = { 0 };

	assert_int_equal(function_list_write_modules(&l, "lib* !libc.so.6 7z.so", false, NULL), 0);
	assert_true(function_list_has_module(&l, "/lib/libm.so.6"));
	assert_false(function_list_has_module(&l, LIBC));
	assert_true(function_list_has_module(&l, "/opt/7z.so"));
	assert_false(function_list_has_module(&l, "/usr/bin/true"));
	function_list_free(&l);
}

static void names(void **state)
{
	struct function_list l = { 0 };

	assert_int_equal(function_list_write(&l, "main m* x@m !mx", false, NULL), 0);
	assert_string_equal(function_pattern_name(&l.patterns.at[0]), "main");
	assert_null(function_pattern_name(&l.patterns.at[1]));
	assert_string_equal(function_pattern_name(&l.patterns.at[2]), "x");
	assert_null(function_pattern_name(&l.patterns.at[3]));
	function_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_matches_nothing), cmocka_unit_test(several_words),
		cmocka_unit_test(modules), cmocka_unit_test(colons_in_names),
		cmocka_unit_test(blanks_in_names), cmocka_unit_test(operators),
		 cmocka_unit_test(versions),
		cmocka_unit_test(removal), cmocka_unit_test(read_back), cmocka_unit_test(writes),
		cmocka_unit_test(errors_point), cmocka_unit_test(module_lists),
		cmocka_unit_test(names), cmocka_unit_test(conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
