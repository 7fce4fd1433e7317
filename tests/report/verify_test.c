/* SPDX-License-Identifier: MIT */
/* What brace rv finds in records whose stamps are not in order, as a hostile program writes
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "report/verify.h"

static const char model[] = "digraph { brace_x = \"s:e\"; \"__init_a\" -> a; a -> b [label = x]; }";
static const char format[] =
	"name: e\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	"\tfield:int fd;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static struct trace_info *make_info(void)
{
	struct trace_info *info = trace_info_new();

	info->clock.hz = 1000000000;
	*vec_add(&info->images) = (struct trace_image){ .pid = 1, .exe = mem_strdup("/m"),
						       .cmdline = mem_strdup("m") };
	for (uint32_t i = 0; i < 2; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1, .tid = 1 + i };
	*vec_add(&info->events) = (struct trace_event){ 0, mem_strdup("s"), mem_strdup("e"),
							mem_strdup(format) };
	return info;
}

static void give(struct verify *v, uint32_t kind, uint32_t thread, uint64_t tsc)
{
	uint64_t payload[2] = { 0 };
	struct event e = { .kind = kind, .thread = thread, .tsc = tsc };

	if (kind == EVENT_TRACE) {
		e.payload = payload;
		e.count = sizeof(payload);
	}
	verify_event(v, &e);
}

/* A loss takes back the faults that were found since the thread's record before, and no others: the
 * second thread's stamps stand still, far before the first one's. */
static void test_loss_behind_old_stamps(void **state)
{
	struct automaton_bindings b;
	struct trace_info *info = make_info();
	struct automaton *a;
	struct verify *v;
	struct err err;

	assert_int_equal(automaton_read(model, strlen(model), &a, &err), 0);
	assert_int_equal(automaton_bindings_read(a, &b, &err), 0);
	v = verify_new(info, a, &b, true);
	give(v, EVENT_TRACE, 0, 5000);
	give(v, EVENT_TRACE, 0, 5001); /* not expected in b */
	assert_int_equal(verify_faults(v), 1);
	give(v, EVENT_TRACE, 1, 10);
	give(v, EVENT_LOST, 1, 10);
	assert_int_equal(verify_faults(v), 1);
	give(v, EVENT_TRACE, 1, 10); /* the loss ends there */
	/* Any state was possible; the second one is found meanwhile. */
	give(v, EVENT_TRACE, 0, 5002);
	give(v, EVENT_TRACE, 0, 5003);
	assert_int_equal(verify_faults(v), 2);
	give(v, EVENT_LOST, 1, 10);
	assert_int_equal(verify_faults(v), 1);
	verify_free(v);
	automaton_bindings_free(&b);
	automaton_free(a);
	trace_info_free(info);
}

/* No record of the second thread's comes behind its loss, so that any record of it may be missing
 * from there on: what the first one does is no fault until one comes. */
static void test_loss_without_end(void **state)
{
	struct automaton_bindings b;
	struct trace_info *info = make_info();
	struct automaton *a;
	struct verify *v;
	struct err err;

	assert_int_equal(automaton_read(model, strlen(model), &a, &err), 0);
	assert_int_equal(automaton_bindings_read(a, &b, &err), 0);
	v = verify_new(info, a, &b, true);
	give(v, EVENT_TRACE, 1, 10);
	give(v, EVENT_LOST, 1, 10);
	give(v, EVENT_LOST, 1, 10); /* told twice, it is one */
	give(v, EVENT_TRACE, 0, 5000);
	give(v, EVENT_TRACE, 0, 5001);
	give(v, EVENT_TRACE, 0, 5002);
	assert_int_equal(verify_faults(v), 0);
	give(v, EVENT_TRACE, 1, 5003);
	give(v, EVENT_TRACE, 0, 5004); /* any state was possible */
	give(v, EVENT_TRACE, 0, 5005);
	assert_int_equal(verify_faults(v), 1);
	verify_free(v);
	automaton_bindings_free(&b);
	automaton_free(a);
	trace_info_free(info);
}

/* The second thread ended with a loss, which was told when it was found gone: what the first one
 * does from then on is judged again. */
static void test_loss_of_a_thread_that_ended(void **state)
{
	struct automaton_bindings b;
	struct trace_info *info = make_info();
	struct automaton *a;
	struct verify *v;
	struct err err;

	assert_int_equal(automaton_read(model, strlen(model), &a, &err), 0);
	assert_int_equal(automaton_bindings_read(a, &b, &err), 0);
	v = verify_new(info, a, &b, true);
	give(v, EVENT_TRACE, 1, 10);
	give(v, EVENT_TRACE, 0, 20);
	give(v, EVENT_TRACE, 0, 21);
	give(v, EVENT_LOST, 1, 5000);
	assert_int_equal(verify_faults(v), 0); /* they came while records were lost */
	give(v, EVENT_TRACE, 0, 5001); /* any state was possible */
	give(v, EVENT_TRACE, 0, 5002);
	assert_int_equal(verify_faults(v), 1);
	verify_free(v);
	automaton_bindings_free(&b);
	automaton_free(a);
	trace_info_free(info);
}

/* A module with a function `f`, id 1, and sites within it (1) and behind it (2). */
static void add_function(struct trace_info *info)
{
	static const char strings[] = "\0f";
	struct trace_module *m = vec_add(&info->modules);

	*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m"), .base = 0x10000,
				    .start = 0x10000, .end = 0x20000, .first_id = 1 };
	for (size_t i = 0; i < sizeof(strings); i++)
		*vec_add(&m->strings) = strings[i];
	*vec_add(&m->functions) = (struct trace_function){ .vaddr = 64, .size = 64, .name = 1,
							   .hook = 1 };
	for (uint64_t site = 0; site < 3; site++)
		*vec_add(&info->images.at[0].sites) = site * 0x10000 + (site > 0);
}

static void call(struct verify *v, uint32_t site, uint64_t tsc)
{
	struct event e = { .kind = EVENT_ENTRY, .fn = 1, .tsc = tsc };

	verify_event(v, &e);
	e = (struct event){ .kind = EVENT_EXIT, .fn = 1, .site = site, .tsc = tsc + 1 };
	verify_event(v, &e);
}

/* `outside` holds for returns, too. */
static void test_return_to_inside(void **state)
{
	static const char text[] = "digraph { brace_x = \"f%return outside\"; "
				   "\"__init_a\" -> a; a -> b [label = x]; }";
	struct automaton_bindings b;
	struct trace_info *info = make_info();
	struct automaton *a;
	struct verify *v;
	struct err err;

	add_function(info);
	assert_int_equal(automaton_read(text, strlen(text), &a, &err), 0);
	assert_int_equal(automaton_bindings_read(a, &b, &err), 0);
	v = verify_new(info, a, &b, true);
	call(v, 2, 10);
	call(v, 1, 20);
	assert_int_equal(verify_events(v), 2);
	assert_int_equal(verify_faults(v), 0);
	call(v, 2, 30);
	assert_int_equal(verify_faults(v), 1);
	verify_free(v);
	automaton_bindings_free(&b);
	automaton_free(a);
	trace_info_free(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_loss_behind_old_stamps),
					    cmocka_unit_test(test_loss_without_end),
					    cmocka_unit_test(test_loss_of_a_thread_that_ended),
					    cmocka_unit_test(test_return_to_inside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
