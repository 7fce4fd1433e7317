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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_loss_behind_old_stamps) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
