/* Times in the kernel of a thread that slept and was preempted inside of a system call, and
 * outside of any; the records are made by hand, in the order that the kernel has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "report/kernel_times.h"

#define TASK 7u
#define OTHER 8u
enum { SLEEPS = 1, RUNNABLE = 0x100 };

static const char format[] =
	"name: sched_switch\nID: 300\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"\"\n";

struct switch_record { char prev_comm[16]; uint32_t prev, prio; uint64_t state; char next_comm[16]; uint32_t next, next_prio; };

struct made { struct source source; struct event events[64]; struct switch_record switches[64]; size_t n, at; };

static int next_event(struct source *source, struct event *out, struct err *err)
{
	struct made *m = (struct made *)source;

	if (m->at == m->n)
		return 0;
	*out = m->events[m->at++];
	return 1;
}

static void close_nothing(struct source *source) {}

static void call(struct made *m, uint64_t tsc, enum event_kind kind)
{
	m->events[m->n++] = (struct event){ .tsc = tsc, .kind = kind, .thread = 1, .fn = 0, .flags = EVENT_KERNEL };
}

static void change(struct made *m, uint64_t tsc, uint32_t prev, uint64_t state, uint32_t next)
{
	struct switch_record *s = &m->switches[m->n];

	s->prev = prev;
	s->state = state;
	s->next = next;
	m->events[m->n++] = (struct event){ .tsc = tsc, .kind = EVENT_TRACE, .thread = 1, .fn = 0, .payload = (const uint64_t *)s,
					    .count = sizeof(*s) };
}

static void begin(struct made *m)
{
	static const struct source_ops ops = { next_event, close_nothing };
	struct trace_info *info = trace_info_new();

	memset(m, 0, sizeof(*m));
	m->source = (struct source){ .ops = &ops, .info = info };
	trace_info_add_kernel(info);
	*vec_add(&info->images) = (struct trace_image){ .pid = TASK, .exe = mem_strdup("/p"), .cmdline = mem_strdup("p") };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = TASK, .tid = TASK, .image = 1 };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = TASK, .tid = TASK, .image = TRACE_KERNEL_IMAGE };
	*vec_add(&info->events) = (struct trace_event){ .index = 0, .system = mem_strdup("sched"), .name = mem_strdup("sched_switch"),
							.format = mem_strdup(format) };
}

static void expect(const struct kernel_times *k, uint64_t from, uint64_t to, uint64_t inside, uint64_t blocked)
{
	struct kernel_time t = kernel_times_between(k, TASK, from, to);

	if (t.inside != inside || t.blocked != blocked)
		fail_msg("from %d to %d: %d inside, %d blocked", (int)from, (int)to, (int)t.inside, (int)t.blocked);
}

static void counts_what_it_ran(void **state)
{
	struct made *m = mem_zalloc(sizeof(*m));
	struct kernel_times *k;
	struct err err;

	begin(m);
	call(m, 100, EVENT_ENTRY);
	change(m, 120, TASK, RUNNABLE, OTHER); /* preempted in the call, twice */
	change(m, 150, OTHER, RUNNABLE, TASK);
	change(m, 160, TASK, 0, OTHER);
	change(m, 190, OTHER, SLEEPS, TASK);
	call(m, 200, EVENT_EXIT);
	change(m, 210, TASK, RUNNABLE, OTHER); /* outside of any */
	change(m, 250, OTHER, RUNNABLE, TASK);
	call(m, 300, EVENT_ENTRY);
	change(m, 310, TASK, SLEEPS, OTHER);
	change(m, 380, OTHER, RUNNABLE, TASK);
	call(m, 400, EVENT_EXIT);
	change(m, 500, TASK, SLEEPS, OTHER); /* asleep, in a function that was not recorded */
	change(m, 590, OTHER, RUNNABLE, TASK);
	assert_int_equal(kernel_times_make(&m->source, &k, &err), 0);
	expect(k, 0, 1000, 40 + 30, 70 + 90);
	expect(k, 100, 200, 40, 0);
	expect(k, 125, 145, 0, 0);
	expect(k, 110, 155, 10 + 5, 0);
	expect(k, 200, 300, 0, 0);
	expect(k, 300, 400, 30, 70);
	expect(k, 480, 600, 0, 90);
	kernel_times_free(k);
	trace_info_free(m->source.info);
	free(m);
}

/* Kernels from 6.11 mix up the returns of several users of function_graph: such a return ends no
 * call. */
static void leaves_out_lone_returns(void **state)
{
	struct made *m = mem_zalloc(sizeof(*m));
	struct kernel_times *k;
	struct err err;

	begin(m);
	call(m, 50, EVENT_EXIT);
	call(m, 100, EVENT_ENTRY);
	call(m, 200, EVENT_EXIT);
	call(m, 300, EVENT_EXIT);
	call(m, 400, EVENT_ENTRY);
	call(m, 410, EVENT_EXIT);
	assert_int_equal(kernel_times_make(&m->source, &k, &err), 0);
	expect(k, 0, 1000, 100 + 10, 0);
	expect(k, 0, 100, 0, 0);
	expect(k, 200, 400, 0, 0);
	kernel_times_free(k);
	trace_info_free(m->source.info);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(counts_what_it_ran), cmocka_unit_test(leaves_out_lone_returns) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
