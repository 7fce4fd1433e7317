/* The kernel's own error_log, entered and shown again: the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "golden.h"
#include "tree/error_log.h"

static int append(void *arg, const char *bytes, size_t n)
{
	char **text = arg;
	char *all = mem_printf("%s%.*s", *text, (int)n, bytes);

	free(*text);
	*text = all;
	return 0;
}

static char *shown(struct error_log *l)
{
	char *text = mem_strdup("");
	struct out out;

	out_init(&out, append, &text);
	error_log_show(l, &out);
	out_flush(&out);
	out_free(&out);
	return text;
}

static void shows(struct error_log *l, const char *want)
{
	char *text = shown(l);

	assert_string_equal(text, want);
	free(text);
}

/* The line that p stands at, without its newline; p goes behind it. */
static char *line(char **p)
{
	char *start = *p;

	*p += strcspn(*p, "\n");
	if (**p)
		*(*p)++ = '\0';
	return start;
}

/* One entry: three lines that begin with "[". Returns how long it was. */
static size_t enter(struct error_log *l, const char *entry)
{
	char *copy = mem_strdup(entry), *p = copy, *head = line(&p), *command = line(&p), *caret = line(&p);
	unsigned long s, us;
	char *location, *error;

	assert_int_equal(sscanf(head, "[%lu.%lu]", &s, &us), 2);
	location = strchr(head, ']') + 2;
	error = strstr(location, ": error: ");
	assert_non_null(error);
	*error = '\0';
	command += strlen("  Command: ");
	error_log_add(l, s * 1000000000 + us * 1000 + 999, location, error + strlen(": error: "), command,
		      strlen(command), strcspn(caret, "^") - strlen("           "));
	s = (size_t)(p - copy);
	free(copy);
	return s;
}

static unsigned compare_each(const char *name)
{
	char *text = golden(name);
	unsigned n = 0;

	for (char *p = text; p && *p; p = strchr(p, '\n'), p += p ? 1 : 0) {
		struct error_log l;
		size_t length;
		char *want;

		if (*p != '[')
			continue;
		error_log_init(&l);
		length = enter(&l, p);
		want = mem_strndup(p, length);
		shows(&l, want);
		free(want);
		error_log_free(&l);
		n++;
	}
	free(text);
	return n;
}

static void as_the_kernel_shows_them(void **state)
{
	static const char *const names[] = { "eprobes", "filter", "fprobe", "hist", "kprobe", "synth", "tprobe", "uprobe" };
	unsigned n = compare_each("k6.12-own.filter.error_log.txt");

	assert_int_equal(n, 2);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = mem_printf("k6.12-own.error_log.%s.txt", names[i]);

		n += compare_each(name);
		free(name);
	}
	assert_true(n > 150);
}

/* Ten commands failed; the golden file has the last eight. */
static void keeps_the_last_eight(void **state)
{
	char *want = golden("k6.12-own.error_log.keeps-last.txt");
	struct error_log l;

	error_log_init(&l);
	error_log_add(&l, 1, "synthetic_events", "too old", "bad1", 4, 0);
	error_log_add(&l, 2, "synthetic_events", "too old", "bad2", 4, 0);
	for (const char *p = want; *p; p += enter(&l, p))
		;
	shows(&l, want);
	error_log_clear(&l);
	shows(&l, "");
	error_log_add(&l, 1000, "a", "b", "c", 1, 0);
	shows(&l, "[    0.000001] a: error: b\n  Command: c\n           ^\n");
	error_log_free(&l);
	free(want);
}

struct fault { const char *command; size_t column; const char *shown; };

/* The caret stays under its byte whatever was written. */
static void lines_and_odd_bytes(void **state)
{
	static const struct fault table[] = {
		{ "one\n", 0, "one\n           ^\n" },
		{ "one\ntwo bad\nthree\n", 8, "two bad\n               ^\n" },
		{ "one\n", 3, "one\n              ^\n" },
		{ "one\n", 4, "one\n               ^\n" },
		{ "one", 9, "one\n                    ^\n" },
		{ "\tbad\x01", 1, " bad \n            ^\n" },
		{ "", 0, "\n           ^\n" },
		{ "\n\n", 2, "\n             ^\n" },
		{ "\xc3\xa9 x", 3, "\xc3\xa9 x\n              ^\n" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct error_log l;
		char *want = mem_printf("[    0.000000] f: error: e\n  Command: %s", table[i].shown);

		error_log_init(&l);
		error_log_add(&l, 0, "f", "e", table[i].command, strlen(table[i].command), table[i].column);
		shows(&l, want);
		error_log_free(&l);
		free(want);
	}
}

static void a_sentence_that_quotes_lines(void **state)
{
	struct error_log l;

	error_log_init(&l);
	error_log_add(&l, 0, "f", "1\n2 is too large", "1\n2", 3, 0);
	shows(&l, "[    0.000000] f: error: 1 2 is too large\n  Command: 1\n           ^\n");
	error_log_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel_shows_them),
		cmocka_unit_test(keeps_the_last_eight),
		cmocka_unit_test(lines_and_odd_bytes),
		cmocka_unit_test(a_sentence_that_quotes_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
