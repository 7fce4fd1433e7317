/* The catalogue, and what is set of its events: names as set_event takes them, the states that
 * `enable` files show, values that are copied and compared. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "golden.h"

static const struct event_provider programs = { .name = "program", .can_enable = true };

static struct event_catalogue *c;
static struct event_set set;
static uint32_t fork_index, exec_index, openat_index;

static uint32_t add(const char *system, const char *name)
{
	char *file = mem_printf("init.events.%s.%s.format", system, name), *text = golden_read("k6.12-own", file);
	const struct event_entry *e;

	assert_int_equal(events_add(c, &programs, system, text, strlen(text), &e, NULL), 0);
	free(text);
	free(file);
	return e->index;
}

static int setup(void **state)
{
	c = events_new();
	fork_index = add("sched", "sched_process_fork");
	exec_index = add("sched", "sched_process_exec");
	openat_index = add("syscalls", "sys_enter_openat");
	set = (struct event_set){ .catalogue = c };
	return 0;
}

static int teardown(void **state)
{
	event_set_free(&set);
	events_free(c);
	return 0;
}

static void is(const char *want)
{
	char *got = event_set_read(&set);

	assert_string_equal(got, want);
	free(got);
}

#define FORK "sched:sched_process_fork\n"
#define EXEC "sched:sched_process_exec\n"
#define OPENAT "syscalls:sys_enter_openat\n"

static void the_catalogue(void **state)
{
	const struct event_entry *e = events_find(c, "sched", "sched_process_fork");
	char *text = mem_strdup(e->text), *want = mem_printf("\nID: %u\n", EVENT_ID_FIRST + e->index);
	struct err err;

	assert_ptr_equal(e, events_at(c, fork_index));
	assert_int_equal(e->format->id, EVENT_ID_FIRST + fork_index);
	assert_non_null(strstr(e->text, want));
	free(want);
	assert_int_equal(add("sched", "sched_process_fork"), fork_index);
	assert_int_equal(events_n(c), openat_index + 1);
	strstr(text, "parent_pid")[0] = 'P';
	assert_int_equal(events_add(c, &programs, "sched", text, strlen(text), &e, &err), -EEXIST);
	assert_int_equal(events_add(c, &programs, "a/b", text, strlen(text), &e, &err), -EINVAL);
	assert_int_equal(events_add(c, &programs, "sched", "name: x\n", 8, &e, &err), -EINVAL);
	free(text);
	assert_null(events_at(c, events_n(c)));
	e = events_find(c, "ftrace", "function");
	assert_int_equal(e->format->id, 1);
	assert_false(events_can_enable(e));
}

static void names(void **state)
{
	static const struct { const char *name, *then; int result; } rows[] = {
		{ "sched:sched_process_fork", FORK, 0 },
		{ "sched_process_exec", FORK EXEC, 0 },
		{ "!sched_process_fork", EXEC, 0 },
		{ "sched", FORK EXEC, 0 },
		{ "!sched:*", "", 0 },
		{ "sched:", FORK EXEC, 0 },
		{ "!*:*", "", 0 },
		{ "*:sys_enter_openat", OPENAT, 0 },
		{ "!:sys_enter_openat", "", 0 },
		{ "*:", FORK EXEC OPENAT, 0 },
		{ "!s*s:sys_*", FORK EXEC, 0 },
		{ "!*fork", EXEC, 0 },
		{ "nosuch", EXEC, -EINVAL },
		{ "nosuch:nosuch", EXEC, -EINVAL },
		{ "sched:sys_enter_openat", EXEC, -EINVAL },
		{ "sched:*:mod:ext4", EXEC, -EINVAL },
		{ ":mod:ext4", EXEC, -EINVAL },
		{ "ftrace:function", EXEC, -EINVAL },
		{ "!", EXEC, -EINVAL },
		{ "", EXEC, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err = { 0 };

		assert_int_equal(event_set_write(&set, rows[i].name, &err), rows[i].result);
		is(rows[i].then);
		assert_true(!rows[i].result || err.text[0]);
	}
	event_set_clear(&set);
	is("");
	assert_int_equal(set.at.n, 0);
}

static void states(void **state)
{
	struct filter_fault fault;

	assert_string_equal(event_set_read_system(&set, NULL), "0");
	assert_string_equal(event_set_read_system(&set, "ftrace"), "?");
	event_set_enable(&set, fork_index, true);
	assert_string_equal(event_set_read_system(&set, "sched"), "X");
	assert_string_equal(event_set_read_system(&set, "syscalls"), "0");
	assert_string_equal(event_set_read_enable(&set, fork_index), "1");
	event_set_enable_system(&set, "sched", true);
	assert_string_equal(event_set_read_system(&set, "sched"), "1");
	assert_string_equal(event_set_read_system(&set, NULL), "X");
	assert_int_equal(event_set_trigger(&set, fork_index, "enable_event:syscalls:sys_enter_openat:2", &fault), 0);
	assert_string_equal(event_set_read_enable(&set, fork_index), "1*");
	assert_string_equal(event_set_read_enable(&set, openat_index), "0*");
	assert_true(event_set_armed(&set, openat_index));
	is(FORK EXEC OPENAT);
	event_set_enable(&set, fork_index, false);
	assert_string_equal(event_set_read_enable(&set, fork_index), "0*");
	assert_int_equal(event_set_trigger(&set, fork_index, "!enable_event:syscalls:sys_enter_openat", &fault), 0);
	assert_string_equal(event_set_read_enable(&set, fork_index), "0");
	event_set_hold(&set, openat_index, 1);
	assert_string_equal(event_set_read_enable(&set, openat_index), "0*");
	event_set_hold(&set, openat_index, -1);
	is(EXEC);
	assert_int_equal(event_set_trigger(&set, fork_index, "enable_event:ftrace:function", &fault), -EINVAL);
}

static void values(void **state)
{
	struct event_set copy;
	struct filter_fault fault;
	unsigned faults;
	char *text;

	event_set_enable(&set, fork_index, true);
	event_set_copy(&copy, &set);
	assert_false(event_set_differ(&set, &copy, fork_index));
	assert_int_equal(event_set_filter(&copy, fork_index, "parent_pid == 1", &fault), 0);
	assert_true(event_set_differ(&set, &copy, fork_index));
	assert_int_equal(event_set_filter(&set, fork_index, " parent_pid == 1\n", &fault), 0);
	assert_false(event_set_differ(&set, &copy, fork_index));
	assert_non_null(event_set_program(&copy, fork_index));
	assert_int_equal(event_set_filter(&copy, exec_index, "pid == 1", &fault), 0);
	assert_false(event_set_differ(&set, &copy, exec_index)); /* it is not enabled */
	assert_int_equal(event_set_trigger(&set, fork_index, "traceoff:3", &fault), 0);
	assert_null(event_set_program(&set, fork_index)); /* its triggers see everything */
	event_set_free(&copy);
	event_set_copy(&copy, &set);
	assert_true(trigger_due(event_set_get(&copy, fork_index)->triggers.at.at[0], false));
	text = trigger_read(&event_set_get(&set, fork_index)->triggers, NULL);
	assert_string_equal(text, "traceoff:count=2\n");
	free(text);
	assert_int_equal(event_set_filter(&set, fork_index, "nosuch == 1", &fault), -EINVAL);
	assert_null(event_set_get(&set, fork_index)->filter.program);
	assert_int_equal(event_set_filter_system(&set, "sched", "parent_pid > 1", &fault, &faults), 0);
	assert_int_equal(faults, 1);
	assert_non_null(strstr(event_set_get(&set, exec_index)->filter.text, "Couldn't find or set field"));
	assert_int_equal(event_set_filter_system(&set, "sched", "0", &fault, &faults), 0);
	assert_null(event_set_get(&set, exec_index)->filter.text);
	event_set_free(&copy);
}

/* The command line's names come before the events do. */
static void pending(void **state)
{
	struct event_set early = { .waits = true };
	struct err err = { 0 };
	char *text;

	assert_int_equal(event_set_pending_filter(&early, "pid == 1", NULL), -EINVAL);
	assert_int_equal(event_set_write(&early, "sched:*", NULL), 0);
	assert_int_equal(event_set_pending_filter(&early, "pid == 1", NULL), 0);
	assert_int_equal(event_set_write(&early, "!sched:sched_process_fork", NULL), 0);
	assert_int_equal(event_set_write(&early, "syscalls:*", NULL), 0);
	assert_int_equal(event_set_pending_trigger(&early, "traceoff:1 if nosuch == 1", NULL), 0);
	text = event_set_read(&early);
	assert_string_equal(text, "sched:*\n!sched:sched_process_fork\nsyscalls:*\n");
	free(text);
	event_set_copy(&set, &early);
	set.catalogue = c;
	assert_int_equal(event_set_grow(&set, &err), -EINVAL);
	assert_non_null(strstr(err.text, "Field not found"));
	is(EXEC OPENAT);
	assert_string_equal(event_set_get(&set, exec_index)->filter.text, "pid == 1");
	assert_int_equal(event_set_grow(&set, &err), 0);
	event_set_free(&early);
}

static void *add_many(void *arg)
{
	static const struct event_field fields[] = { { "int", "a", 8, 4, true } };

	for (unsigned i = 0; i < 200; i++) {
		char *name = mem_printf("event_%u", i);
		struct event_format f = { "many", name, 0, fields, 1, "\"%d\", REC->a" };
		const struct event_entry *e;

		if (events_add_format(c, &programs, &f, &e, NULL) || strcmp(e->format->name, name))
			*(bool *)arg = true;
		free(name);
	}
	return NULL;
}

static void processes_bring_the_same_events(void **state)
{
	pthread_t threads[3];
	bool wrong[3] = { false };
	uint32_t n = events_n(c);

	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, add_many, &wrong[i]);
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_false(wrong[i]);
	}
	assert_int_equal(events_n(c), n + 200);
	for (uint32_t i = n; i < n + 200; i++)
		assert_int_equal(events_at(c, i)->format->id, EVENT_ID_FIRST + i);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_catalogue), TEST(names), TEST(states), TEST(values), TEST(pending), TEST(processes_bring_the_same_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
