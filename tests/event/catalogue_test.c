/* The catalogue by names: many events are defined, removed and defined again, and each is found by
 * as few comparisons of strings as a balanced tree takes. The linker leads strcmp() here, where it
 * is counted (tests/event/meson.build). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/catalogue.h"

static const struct event_provider program = { .name = "program", .can_enable = true };

static uint64_t compared;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

int __wrap_strcmp(const char *a, const char *b)
{
	compared++;
	return __real_strcmp(a, b);
}

static struct event_format format_of(char *name, size_t bytes, unsigned i)
{
	/* ascending: the worst order for a tree that is not balanced */
	snprintf(name, bytes, "event_%08u", i / 2);
	return (struct event_format){ .system = i % 2 ? "odd" : "even", .name = name, .print = "\"\"" };
}

static const struct event_entry *define(struct event_catalogue *c, unsigned i)
{
	char name[32];
	struct event_format f = format_of(name, sizeof(name), i);
	const struct event_entry *e = NULL;
	struct err err;

	assert_int_equal(events_define(c, &program, &f, &e, &err), 0);
	assert_string_equal(e->format->name, name);
	assert_string_equal(e->format->system, f.system);
	return e;
}

/* Returns how many comparisons n events take, from the first to the last, to be defined and to be
 * found. */
static uint64_t comparisons_of(unsigned n)
{
	struct event_catalogue *c = events_new();
	uint64_t before = compared;
	char name[32];

	for (unsigned i = 0; i < n; i++)
		define(c, i);
	for (unsigned i = 0; i < n; i++) {
		struct event_format f = format_of(name, sizeof(name), i);

		events_find(c, f.system, f.name);
	}
	before = compared - before;
	for (unsigned i = 0; i < n; i++) {
		struct event_format f = format_of(name, sizeof(name), i);
		const struct event_entry *e = events_find(c, f.system, f.name);

		assert_non_null(e);
		assert_string_equal(e->format->name, name);
		assert_string_equal(e->format->system, f.system);
	}
	events_free(c);
	return before;
}

static void many(void **state)
{
	const unsigned few = 500, times = 16;
	uint64_t some = comparisons_of(few), all = comparisons_of(times * few);

	(void)state;
	print_message("%u events: %llu comparisons; %u events: %llu\n", few, (unsigned long long)some,
		      times * few, (unsigned long long)all);
	assert_true(some >= 2 * few); /* they are counted */
	assert_true(all <= 2 * times * some);
}

static void again(void **state)
{
	struct event_catalogue *c = events_new();
	const struct event_entry *first = define(c, 4), *other = define(c, 5), *second;
	struct err err;

	(void)state;
	assert_int_equal(events_define(c, &program, first->format, &second, &err), -EEXIST);
	events_remove(c, first);
	assert_null(events_find(c, "even", "event_00000002"));
	assert_ptr_equal(events_find(c, "odd", "event_00000002"), other);
	second = define(c, 4);
	assert_ptr_not_equal(second, first);
	assert_int_equal(second->index, other->index + 1);
	events_remove(c, first); /* it is gone already: the name is the second one's now */
	assert_ptr_equal(events_find(c, "even", "event_00000002"), second);
	assert_ptr_equal(events_at(c, first->index), first);
	assert_null(events_find(c, "even", "event_00000003"));
	assert_null(events_find(c, "", ""));
	assert_non_null(events_find(c, "ftrace", "function"));
	events_free(c);
}

/* A file's event takes the place of one that yields, and a definition does not. */
static void yields(void **state)
{
	static const struct event_provider made = { .name = "made", .can_enable = true, .yields = true };
	struct event_catalogue *c = events_new();
	struct event_format f = { .system = "sched", .name = "woken", .print = "\"\"" };
	const struct event_entry *first, *again, *second;
	struct err err;

	(void)state;
	assert_int_equal(events_add_format(c, &made, &f, &first, &err), 0);
	assert_int_equal(events_add_format(c, &made, &f, &again, &err), 0);
	assert_ptr_equal(again, first);
	assert_int_equal(events_define(c, &program, &f, &again, &err), -EEXIST);
	assert_int_equal(events_add_format(c, &program, &f, &second, &err), 0);
	assert_ptr_not_equal(second, first);
	assert_ptr_equal(second->provider, &program);
	assert_true(events_is_gone(first) && !events_can_enable(first));
	assert_ptr_equal(events_find(c, "sched", "woken"), second);
	assert_int_equal(events_add_format(c, &program, &f, &again, &err), 0);
	assert_ptr_equal(again, second);
	events_free(c);
}

/* One name that comes and goes costs no more for those that went. */
static void comes_and_goes(void **state)
{
	struct event_catalogue *c = events_new();
	uint64_t first, last;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		define(c, i);
	first = compared;
	events_remove(c, define(c, 64));
	first = compared - first;
	for (unsigned i = 0; i < 2000; i++)
		events_remove(c, define(c, 64));
	last = compared;
	events_remove(c, define(c, 64));
	last = compared - last;
	assert_true(last <= 2 * first);
	events_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many),
		cmocka_unit_test(again),
		cmocka_unit_test(yields),
		cmocka_unit_test(comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
