/* `filter` files and what goes to `error_log`, as three kernels wrote them: byte for byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/filter.h"
#include "golden.h"

/* signal:signal_generate, whose filters error_log.filter was written with; no golden file has its
 * format. */
static const struct event_field signal_fields[] = {
	{ "int", "sig", 8, 4, true },    { "int", "errno", 12, 4, true },   { "int", "code", 16, 4, true },
	{ "char[16]", "comm", 20, 16, false }, { "pid_t", "pid", 36, 4, true }, { "int", "group", 40, 4, true },
	{ "int", "result", 44, 4, true },
};
static const struct event_format signal_generate = {
	"signal", "signal_generate", 1, signal_fields, 7, "\"\"",
};
static const struct filter_context context = { .cpus = 2 };

static uint64_t stamp(const char *line)
{
	unsigned long long seconds, us;

	return sscanf(line, "[%llu.%llu]", &seconds, &us) == 2 ? (seconds * 1000000 + us) * 1000 : 0;
}

/* One "# FILTER" and what followed it. Linux 6.12.117 refuses a filter that ends in an operator,
 * and so do we; the two others take it as if the operator were not there. */
static void one_command(const char *line, size_t n, const char *then, bool lenient, FILE *to)
{
	char *text = mem_strndup(line, n), *s;
	struct event_filter f = { 0 };
	struct filter_fault fault;

	fprintf(to, "# %s\n", text);
	lenient &= !strcmp(text, "sig == 1 && ");
	if (lenient)
		text[8] = '\0';
	if (event_filter_write(&f, &signal_generate, text, &context, &fault) < 0) {
		s = golden_log(&fault, stamp(then));
		fputs(s, to);
		free(s);
	}
	s = event_filter_read(&f);
	fputs(lenient ? "sig == 1 &&\n" : s, to);
	free(s);
	event_filter_free(&f);
	free(text);
}

static void error_log(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		char *want = golden_read(golden_kernels[k], "error_log.filter"), *got = NULL;
		size_t size;
		FILE *to = open_memstream(&got, &size);

		for (char *line = want; line && *line; line = strchr(line, '\n'), line += line != NULL)
			if (*line == '#')
				one_command(line + 2, strcspn(line + 2, "\n"), strchr(line, '\n') + 1, k != 1, to);
		fclose(to);
		golden_same(golden_kernels[k], got, want);
		assert_in_range(strlen(got), 1000, 10000);
		free(got);
		free(want);
	}
}

static void check_file(const char *kernel, const char *name, char *got)
{
	char *want = golden_read(kernel, name);

	golden_same(name, got, want);
	free(got);
	free(want);
}

/* A text written to sched_switch/filter, and the file it left behind. */
static const struct { const char *text, *file; } writes[] = {
	{ NULL, "init.events.sched.sched_switch.filter" },
	{ "prev_comm == \"sh\" && (next_pid > 1 || prev_prio != 120)\n", "filter.set" },
	{ "prev_comm ~ \"*sh*\"\n", "filter.glob" },
	{ "prev_pid & 1\n", "filter.band" },
	{ "prev_comm == \n", "filter.bad-value" },
	{ "nosuch == 1\n", "filter.no-such-field" },
	{ "0\n", "filter.cleared" },
};

static void one_event(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		struct event_format *e = golden_event(golden_kernels[k], "sched", "sched_switch");
		char *log = mem_strdup(""), *want = golden_read(golden_kernels[k], "filter.error_log");
		const char *stamped = want;
		struct event_filter f = { 0 };

		for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
			struct filter_fault fault;
			char *line, *more;

			if (writes[i].text && event_filter_write(&f, e, writes[i].text, &context, &fault) < 0) {
				line = golden_log(&fault, stamp(stamped));
				more = mem_printf("%s%s", log, line);
				stamped += strlen(line);
				free(line);
				free(log);
				log = more;
				assert_null(f.program);
			}
			check_file(golden_kernels[k], writes[i].file, event_filter_read(&f));
		}
		golden_same("filter.error_log", log, want);
		free(log);
		free(want);
		event_format_free(e);
	}
}

static void a_system(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		struct event_format *e[2] = { golden_event(golden_kernels[k], "sched", "sched_switch"),
					      golden_event(golden_kernels[k], "sched", "sched_process_fork") };
		struct event_filter system = { 0 }, f[2] = { 0 };
		const struct event_filter_member members[2] = { { e[0], &f[0] }, { e[1], &f[1] } };
		struct filter_fault fault;
		unsigned faults;
		char *a, *b;

		check_file(golden_kernels[k], "init.events.sched.filter", event_filter_read_system(&system));
		assert_int_equal(event_filter_write_system(&system, members, 2, "common_pid > 1\n", &context, &fault, &faults), 0);
		assert_int_equal(faults, 0);
		a = event_filter_read_system(&system);
		b = event_filter_read(&f[1]);
		check_file(golden_kernels[k], "filter.subsystem-common_pid", mem_printf("%s%s", a, b));
		check_file(golden_kernels[k], "filter.set-subsystem", a);
		free(b);
		assert_int_equal(event_filter_write_system(&system, members, 2, "prev_pid > 1\n", &context, &fault, &faults), 0);
		assert_int_equal(faults, 1);
		check_file(golden_kernels[k], "filter.subsystem-some-lack-field", event_filter_read_system(&system));
		a = event_filter_read(&f[0]);
		b = event_filter_read(&f[1]);
		check_file(golden_kernels[k], "filter.subsystem-some-lack-field.members", mem_printf("%s%s", a, b));
		free(a);
		free(b);
		assert_non_null(f[0].program);
		assert_null(f[1].program);
		assert_int_equal(event_filter_write_system(&system, members, 2, "nosuch > 1", &context, &fault, &faults), 0);
		assert_int_equal(faults, 2);
		a = event_filter_read(&f[0]);
		assert_string_equal(a, "nosuch > 1\n^\nparse_error: Couldn't find or set field in one of a subsystem's events\n\n");
		free(a);
		assert_int_equal(event_filter_write_system(&system, members, 2, "0", &context, &fault, &faults), 0);
		a = event_filter_read(&f[1]);
		assert_string_equal(a, "none\n");
		free(a);
		assert_null(system.text);
		event_format_free(e[0]);
		event_format_free(e[1]);
	}
}

/* Single writes and what they returned: lines of write-results. */
static void results(void **state)
{
	static const char file[] = "t events/sched/sched_switch/filter: open ok; write \"";
	unsigned n = 0;

	for (size_t k = 0; k < 3; k++) {
		struct event_format *e = golden_event(golden_kernels[k], "sched", "sched_switch");
		char *text = golden_read(golden_kernels[k], "write-results"), *at = text;
		struct event_filter f = { 0 };

		for (; (at = strstr(at, file)); n++) {
			char *begin = at + strlen(file), *end = strstr(begin, "\" ("), *result = strstr(end, "-> ") + 3;
			char *written = mem_strndup(begin, (size_t)(end - begin));
			struct filter_fault fault;
			int r = event_filter_write(&f, e, written, &context, &fault);

			assert_int_equal(r, strncmp(result, "EINVAL", 6) ? 0 : -EINVAL);
			free(written);
			at = end;
		}
		event_filter_free(&f);
		event_format_free(e);
		free(text);
	}
	assert_int_equal(n, 9);
}

/* More than a page of text is refused before it is looked at; what stood there stays. */
static void too_long(void **state)
{
	struct event_filter f = { 0 };
	struct filter_fault fault;
	char *text = mem_printf("sig == 1%4088s", "");

	assert_int_equal(event_filter_write(&f, &signal_generate, "sig == 2", &context, &fault), 0);
	assert_int_equal(event_filter_write(&f, &signal_generate, text, &context, &fault), -EINVAL);
	assert_int_equal(fault.code, 0);
	assert_string_equal(f.text, "sig == 2");
	text[4095] = '\0';
	assert_int_equal(event_filter_write(&f, &signal_generate, text, &context, &fault), 0);
	assert_string_equal(f.text, "sig == 1");
	event_filter_free(&f);
	free(text);
}

/* The same fault as brace's own commands tell it. */
static void for_people(void **state)
{
	struct filter_program *p;
	struct filter_fault fault;
	struct err err = { 0 };

	assert_int_equal(filter_compile(&signal_generate, "sig == ", 7, &context, &p, &fault), -EINVAL);
	assert_int_equal(filter_fault_err(&fault, &err), -EINVAL);
	assert_string_equal(err.text, "event filter parse error: Invalid value (did you forget quotes)?");
	assert_string_equal(err.input, "sig == ");
	assert_int_equal(err.column, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_log),
		cmocka_unit_test(one_event),
		cmocka_unit_test(a_system),
		cmocka_unit_test(results),
		cmocka_unit_test(too_long),
		cmocka_unit_test(for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
