/* `format` files: every one a kernel wrote is read and written again byte for byte; our own events'
 * files are the kernel's; what is no format file is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/format.h"
#include "event/print_names.h"
#include "golden.h"

static void written_again(const char *name, const char *text)
{
	struct err err = { 0 };
	struct event_format *e = event_format_parse(text, strlen(text), "any", &err);
	char *got;

	if (!e)
		fail_msg("%s: %s", name, err.text);
	got = event_format_read(e);
	golden_same(name, got, text);
	free(got);
	event_format_free(e);
}

static void every_format_of_the_kernels(void **state)
{
	assert_in_range(golden_each(".format", written_again), 100, 1000);
}

static void our_events_are_the_kernels(void **state)
{
	size_t n;
	const struct event_format *events = event_builtin(&n);

	assert_in_range(n, 13, 100);
	for (size_t i = 0; i < n; i++) {
		char *name = mem_printf("init.events.ftrace.%s.format", events[i].name);
		char *want = golden_read("k6.12-own", name), *got = event_format_read(&events[i]);

		golden_same(name, got, want);
		assert_string_equal(events[i].system, "ftrace");
		free(got);
		free(want);
		free(name);
	}
}

static bool has_field(const void *format, const char *name, size_t n)
{
	enum event_field_kind kind;

	return event_find_field(format, name, n, &kind) != NULL;
}

static void prints_its_fields(const char *name, const char *text)
{
	struct err err = { 0 };
	struct event_format *e = event_format_parse(text, strlen(text), "any", &err);
	const char *unknown;
	size_t n = 0;

	if (!e)
		fail_msg("%s: %s", name, err.text);
	unknown = event_print_unknown(e->print, has_field, e, &n);
	if (unknown)
		fail_msg("%s: %.*s is no field of it", name, (int)n, unknown);
	event_format_free(e);
}

static void each_name_in_a_print_format_is_a_fields(void **state)
{
	assert_in_range(golden_each(".format", prints_its_fields), 100, 1000);
}

static void names_that_no_field_has(void **state)
{
	static const struct { const char *print, *unknown; } cases[] = {
		{ "\"a=%s\", REC->b", "b" },
		{ "\"REC->b\", REC->prev_pid", NULL },
		{ "\"a \\\" REC->b\", REC->prev_pid", NULL },
		{ "\"%s\", __get_str(next_com)", "next_com" },
		{ "\"%s\", __get_dynamic_array_len( nothing )", "nothing" },
		{ "\"%d %d\", REC->prev_pid, (REC->prev_pid_ + 1)", "prev_pid_" },
		{ "\"%d\", REC -> x", "x" },
		{ "\"%d\", REC->", "" },
		{ "\"%d\", RECORD->x + MYREC->x + REC.x + __got_str(x)", NULL },
		{ "\"%s __get_str(x)", NULL },
		{ "\"\\", NULL },
		{ "__get_str(", "" },
		{ "", NULL },
	};
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = 0;
		const char *got = event_print_unknown(cases[i].print, has_field, e, &n);

		if (!got != !cases[i].unknown ||
		    (got && (n != strlen(cases[i].unknown) || strncmp(got, cases[i].unknown, n) != 0)))
			fail_msg("%s: %.*s", cases[i].print, (int)n, got ? got : "");
	}
	event_format_free(e);
}

static void fields_by_name(void **state)
{
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(e, "prev_comm", 9, &kind);

	assert_int_equal(kind, EVENT_STRING);
	assert_int_equal(f->offset, 8);
	assert_int_equal(f->size, 16);
	assert_non_null(event_find_field(e, "common_pid", 10, &kind));
	assert_int_equal(kind, EVENT_NUMBER);
	assert_non_null(event_find_field(e, "COMM", 4, &kind));
	assert_int_equal(kind, EVENT_COMM);
	assert_non_null(event_find_field(e, "cpu", 3, &kind));
	assert_int_equal(kind, EVENT_CPU);
	assert_null(event_find_field(e, "prev_com", 8, &kind));
	assert_null(event_find_field(e, "prev_comm2", 10, &kind));
	assert_int_equal(event_record_bytes(e), 64);
	event_format_free(e);
}

/* The kernel's file with one place changed: each is refused, none takes anything along. */
static void malformed(void **state)
{
	static const struct { const char *from, *to; } changes[] = {
		{ "name: ", "name:" }, { "name: sched_switch", "name: " }, { "ID: ", "ID: 0" }, { "format:", "form:" },
		{ "common_type", "common_tipe" }, { "offset:0", "offset:1" }, { "offset:8", "offset:08" },
		{ "offset:8", "offset:65536" }, { "size:16", "size:65535" }, { "signed:1;\n\n", "signed:2;\n\n" },
		{ "\n\nprint", "\nprint" }, { "prev_comm[16]", "[16]" }, { "char prev_comm", "prev_comm" },
		{ ";\tsize", ";size" }, { "print fmt: ", "print fmt:" }, { "next_prio\n", "next_prio\n\n" },
		{ "next_prio\n", "next_prio" }, { "char prev_comm[16]", "char[16] prev_comm" },
		{ "char prev_comm[16]", "__data_loc char prev_comm[16]" },
	};
	char *text = golden_read("k6.12-debian", "init.events.sched.sched_switch.format");

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char *at = strstr(text, changes[i].from), *bad;
		struct err err = { 0 };

		assert_non_null(at);
		if (!strncmp(changes[i].from, "next_prio\n", 10))
			at = text + strlen(text) - 10;
		bad = mem_printf("%.*s%s%s", (int)(at - text), text, changes[i].to, at + strlen(changes[i].from));
		if (event_format_parse(bad, strlen(bad), "sched", &err))
			fail_msg("taken: %s instead of %s", changes[i].to, changes[i].from);
		assert_int_equal(err.code, 22);
		assert_non_null(strstr(err.text, "line "));
		free(bad);
	}
	for (size_t n = 0; n < strlen(text); n++)
		assert_null(event_format_parse(text, n, "sched", NULL));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_of_the_kernels),
		cmocka_unit_test(our_events_are_the_kernels),
		cmocka_unit_test(each_name_in_a_print_format_is_a_fields), cmocka_unit_test(names_that_no_field_has),
		cmocka_unit_test(fields_by_name),
		cmocka_unit_test(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
