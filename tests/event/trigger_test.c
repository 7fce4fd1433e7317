/* `trigger` files as three kernels wrote them, and what kernel and events.rst say about the rest of
 * the grammar. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/trigger.h"
#include "golden.h"

static bool exists(void *arg, const char *system, const char *event)
{
	return !strcmp(system, "sched") && (!strcmp(event, "sched_wakeup") || !strcmp(event, "sched_waking"));
}

static const struct trigger_context context = { .filter.cpus = 2, .event_exists = exists };

/* The kernel's text without what histograms put into it, which are not there yet. */
static char *without_hist(const char *kernel, const char *name)
{
	char *text = golden_read(kernel, name), *at = strstr(text, " enable_hist disable_hist hist\n");

	if (at)
		strcpy(at, "\n");
	at = strstr(text, "\nhist:");
	if (at)
		at[1] = '\0';
	return text;
}

static int add(struct trigger_list *l, const struct event_format *e, const char *line)
{
	struct filter_fault fault;

	return trigger_write(l, e, line, &context, &fault);
}

static void is(const struct trigger_list *l, const char *want)
{
	char *got = trigger_read(l, NULL);

	golden_same("trigger", got, want);
	free(got);
}

static void the_kernels_files(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		struct event_format *e = golden_event(golden_kernels[k], "sched", "sched_process_fork");
		struct trigger_list l = { 0 };
		char *want = without_hist(golden_kernels[k], "init.events.sched.sched_switch.trigger");

		is(&l, want);
		free(want);
		want = without_hist(golden_kernels[k], "init.events.ftrace.print.trigger");
		is(&l, want);
		free(want);
		assert_int_equal(add(&l, e, "traceoff\n"), 0);
		assert_int_equal(add(&l, e, "snapshot:0\n"), 0);
		assert_int_equal(add(&l, e, "stacktrace:4\n"), 0);
		assert_int_equal(add(&l, e, "enable_event:sched:sched_waking\n"), 0);
		assert_int_equal(add(&l, e, "disable_event:sched:sched_wakeup:3 if parent_pid > 1\n"), 0);
		want = without_hist(golden_kernels[k], "trigger.all-kinds");
		is(&l, want);
		free(want);
		/* the forks: sched_wakeup was not on, so switching it off was nothing to count */
		for (unsigned i = 0; i < 6; i++) {
			for (size_t t = 0; t < l.at.n; t++) {
				enum trigger_action a = l.at.at[t]->kind->action;

				trigger_due(l.at.at[t], a == TRIGGER_DISABLE || (i && a != TRIGGER_STACKTRACE));
			}
		}
		want = without_hist(golden_kernels[k], "trigger.all-kinds-after-fork");
		is(&l, want);
		free(want);
		trigger_list_free(&l);
		event_format_free(e);
	}
}

static void results(void **state)
{
	static const char file[] = "t events/sched/sched_switch/trigger: open ok; write \"";
	static const struct { const char *word; int code; } codes[] = {
		{ "EINVAL", -EINVAL }, { "EEXIST", -EEXIST }, { "ENOENT", -ENOENT },
	};
	unsigned n = 0;

	for (size_t k = 0; k < 3; k++) {
		struct event_format *e = golden_event(golden_kernels[k], "sched", "sched_switch");
		char *text = golden_read(golden_kernels[k], "write-results"), *at = text;
		struct trigger_list l = { 0 };

		for (; (at = strstr(at, file)); n++) {
			char *begin = at + strlen(file), *end = strchr(begin, '"'), *result = strstr(end, "-> ") + 3;
			char *written = mem_strndup(begin, (size_t)(end - begin));
			int want = 0;

			for (size_t i = 0; i < 3; i++)
				want = strncmp(result, codes[i].word, 6) ? want : codes[i].code;
			assert_int_equal(add(&l, e, written), want);
			free(written);
			at = end;
		}
		trigger_list_free(&l);
		event_format_free(e);
		free(text);
	}
	assert_int_equal(n, 15);
}

static const struct { const char *line; int code; const char *shown; } lines[] = {
	{ "traceon", 0, "traceon:unlimited\n" },
	{ "  traceon:5\n", 0, "traceon:count=5\n" },
	{ "traceoff 5", 0, "traceoff:count=5\n" },
	{ "traceoff:0x10", 0, "traceoff:count=16\n" },
	{ "traceoff:010", 0, "traceoff:count=8\n" },
	{ "traceoff:", 0, "traceoff:unlimited\n" },
	{ "traceoff:18446744073709551615", 0, "traceoff:unlimited\n" },
	{ "traceoff:18446744073709551616", -ERANGE, NULL },
	{ "traceoff:1:2", 0, "traceoff:count=1\n" },
	{ "traceoff:1x", -EINVAL, NULL },
	{ "traceoff:x", -EINVAL, NULL },
	{ "traceoff:-1", -EINVAL, NULL },
	{ "! traceoff", -EINVAL, NULL },
	{ "TRACEOFF", -EINVAL, NULL },
	{ "", -EINVAL, NULL },
	{ "!", -EINVAL, NULL },
	{ ":", -EINVAL, NULL },
	{ "traceoff if prev_pid == 1", 0, "traceoff:unlimited if prev_pid == 1\n" },
	{ "traceoff:3 if prev_pid == 1", 0, "traceoff:count=3 if prev_pid == 1\n" },
	{ "traceoff:3  if  prev_pid == 1  ", 0, "traceoff:count=3 if  prev_pid == 1\n" },
	{ "traceoff:if prev_pid == 1", 0, "traceoff:unlimited if prev_pid == 1\n" },
	{ "traceoff:3if prev_pid == 1", -EINVAL, NULL },
	{ "traceoff if", -EINVAL, NULL },
	{ "traceoff unless prev_pid == 1", -EINVAL, NULL },
	{ "traceoff if nosuch == 1", -EINVAL, NULL },
	{ "traceoff if 0", -EINVAL, NULL },
	{ "traceoff if (prev_pid == 1", -ENOENT, NULL },
	{ "enable_event", -EINVAL, NULL },
	{ "enable_event:", -EINVAL, NULL },
	{ "enable_event:sched", -EINVAL, NULL },
	{ "enable_event:sched:", -EINVAL, NULL },
	{ "enable_event:sched:nosuch", -EINVAL, NULL },
	{ "!enable_event:sched:nosuch", -EINVAL, NULL },
	{ "enable_event:sched:sched_waking:", -EINVAL, NULL },
	{ "enable_event:sched:sched_waking:7", 0, "enable_event:sched:sched_waking:count=7\n" },
	{ "disable_event:sched:sched_waking if prev_comm ~ \"a b*\"", 0,
	  "disable_event:sched:sched_waking:unlimited if prev_comm ~ \"a b*\"\n" },
	{ "hist:keys=prev_pid", -EINVAL, NULL },
	{ "!stacktrace", 0, NULL },
	{ "!stacktrace:3 if nonsense", 0, NULL },
};

static void grammar(void **state)
{
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");
	struct trigger_list none = { 0 };
	char *empty = trigger_read(&none, NULL);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct trigger_list l = { 0 };
		int r = add(&l, e, lines[i].line);

		if (r != lines[i].code)
			fail_msg("%s gives %d, not %d", lines[i].line, r, lines[i].code);
		is(&l, lines[i].shown ? lines[i].shown : empty);
		trigger_list_free(&l);
	}
	free(empty);
	event_format_free(e);
}

/* One trigger of a kind, traceon and traceoff being one kind, and one for each event that is
 * switched. */
static void slots(void **state)
{
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");
	struct trigger_list l = { 0 };

	assert_int_equal(add(&l, e, "traceon:2"), 0);
	assert_int_equal(add(&l, e, "traceoff"), -EEXIST);
	assert_int_equal(add(&l, e, "enable_event:sched:sched_waking"), 0);
	assert_int_equal(add(&l, e, "disable_event:sched:sched_waking:5"), -EEXIST);
	assert_int_equal(add(&l, e, "disable_event:sched:sched_wakeup"), 0);
	is(&l, "disable_event:sched:sched_wakeup:unlimited\nenable_event:sched:sched_waking:unlimited\ntraceon:count=2\n");
	assert_int_equal(add(&l, e, "!disable_event:sched:sched_waking:9 if rubbish"), 0);
	assert_int_equal(add(&l, e, "!traceoff"), 0);
	is(&l, "disable_event:sched:sched_wakeup:unlimited\n");
	trigger_list_free(&l);
	event_format_free(e);
}

static void faults(void **state)
{
	static const char line[] = "stacktrace:5 if prev_pid = 1\n";
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");
	struct trigger_list l = { 0 };
	struct filter_fault fault;
	char *log;

	assert_int_equal(trigger_write(&l, e, line, &context, &fault), -EINVAL);
	log = golden_log(&fault, 1000000);
	assert_string_equal(log, "[    0.001000] event filter parse error: error: Invalid operator\n"
				 "  Command: prev_pid = 1\n                     ^\n");
	free(log);
	assert_int_equal(trigger_write(&l, e, "nosuch", &context, &fault), -EINVAL);
	assert_int_equal(fault.code, 0);
	trigger_list_free(&l);
	event_format_free(e);
}

static void counts(void **state)
{
	struct event_format *e = golden_event("k6.12-debian", "sched", "sched_switch");
	struct trigger_list l = { 0 };
	struct event_trigger *t;

	assert_int_equal(add(&l, e, "traceoff:2"), 0);
	t = l.at.at[0];
	assert_false(trigger_due(t, true));
	assert_true(trigger_due(t, false));
	assert_true(trigger_due(t, false));
	assert_false(trigger_due(t, false));
	is(&l, "traceoff:count=0\n");
	trigger_list_free(&l);
	event_format_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_files), cmocka_unit_test(results), cmocka_unit_test(grammar),
		cmocka_unit_test(slots), cmocka_unit_test(faults), cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
