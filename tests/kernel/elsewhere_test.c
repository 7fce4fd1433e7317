/* SPDX-License-Identifier: MIT */
/* Records made by hand, by the formats of a real kernel (6.12): what the program caused becomes
 * calls, and nothing else does. */
#include "../store/cmocka_all.h"

#include <string.h>

#include "kernel/elsewhere.h"
#include "kernel/symbols.h"

/* Ids of the formats in tests/kernel/elsewhere. */
enum {
	QUEUE = 269, START = 267, END = 266, RAISE = 153, ENTRY = 155, EXIT = 154, IRQ = 157, IRQ_END = 156,
	TIMER = 92, TIMER_END = 91, WAKING = 313,
};
#define HARDIRQ 0x08
#define SOFTIRQ 0x10
#define PROGRAM 100
#define WORKER 50
#define NET_RX 3
#define SCHED 7
#define WORK_FUNCTION 0xffffffff81000100

static const char symbols[] = "ffffffff81000000 T first\nffffffff81000100 t a_work\nffffffff81000200 t another_work\n"
			      "ffffffff81000300 T handle_irq_event\nffffffff81000400 T handle_softirqs\n"
			      "ffffffff81000500 t net_rx_action\nffffffff81000600 T __sysvec_apic_timer_interrupt\n"
			      "ffffffff81000700 T last\n";

struct state {
	struct trace_info *info;
	struct trace_module all;
	struct kernel_used used;
	struct kernel_records records;
	struct kernel_elsewhere *e;
};

static int set_up(void **state)
{
	static struct state s;
	struct err err;

	memset(&s, 0, sizeof(s));
	s.info = trace_info_new();
	assert_int_equal(kernel_symbols_read(&s.all, symbols, &err), 0);
	trace_info_add_kernel(s.info);
	kernel_used_init(&s.used, &s.all);
	kernel_records_init(&s.records, s.info, 0, &s.used);
	assert_int_equal(kernel_elsewhere_new(ELSEWHERE, &s.records, &s.e, &err), 0);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct state *s = *state;

	kernel_elsewhere_free(s->e);
	kernel_records_free(&s->records);
	kernel_used_free(&s->used);
	kernel_symbols_free(&s->all);
	trace_info_free(s->info);
	return 0;
}

/* A record as these events have it: common fields, and up to two values of 8 bytes. */
struct bytes { uint8_t at[24]; };

static struct kernel_page_record record(struct bytes *b, uint64_t tsc, unsigned id, uint8_t flags, int32_t tid, uint64_t value,
					uint64_t second)
{
	const uint16_t type = (uint16_t)id;

	memset(b, 0, sizeof(*b));
	memcpy(b->at, &type, 2);
	b->at[2] = flags;
	memcpy(b->at + 4, &tid, 4);
	memcpy(b->at + 8, &value, 8);
	memcpy(b->at + 16, &second, 8);
	return (struct kernel_page_record){ .tsc = tsc, .data = b->at, .n = sizeof(b->at) };
}

/* One of the program's instance. */
static void own(struct state *s, uint64_t tsc, uint16_t cpu, unsigned id, uint8_t flags, uint64_t value)
{
	struct bytes b;
	struct kernel_page_record r = record(&b, tsc, id, flags, PROGRAM, value, 0);

	kernel_elsewhere_cause(s->e, cpu, &r);
}

/* One of the second instance. */
static void other(struct state *s, uint64_t tsc, uint16_t cpu, unsigned id, uint8_t flags, int32_t tid, uint64_t value)
{
	struct bytes b;
	struct kernel_page_record r = record(&b, tsc, id, flags, tid, value, WORK_FUNCTION);

	kernel_elsewhere_take(s->e, cpu, &r);
}

static void assert_none(struct state *s)
{
	struct event e;

	assert_false(kernel_elsewhere_next(s->e, &e));
}

/* The next event: its kind, its time, and the function and thread by their names. */
static struct event assert_call(struct state *s, enum event_kind kind, uint64_t tsc, const char *function, const char *thread)
{
	struct event e;
	const struct trace_function *f;

	assert_true(kernel_elsewhere_next(s->e, &e));
	assert_int_equal(e.kind, kind);
	assert_int_equal(e.tsc, tsc);
	f = &s->all.functions.at[e.fn - s->all.first_id];
	assert_string_equal(s->all.strings.at + f->name, function);
	assert_string_equal(s->info->threads.at[e.thread].comm, thread);
	return e;
}

static void work_of_the_program(void **state)
{
	struct state *s = *state;
	struct event e;

	own(s, 10, 0, QUEUE, 0, 0xa0);
	assert_none(s);
	other(s, 20, 1, START, 0, WORKER, 0xa0);
	e = assert_call(s, EVENT_ENTRY, 20, "a_work", KERNEL_NAMELESS);
	assert_int_equal(e.cpu, 1);
	assert_int_equal(s->info->threads.at[e.thread].tid, WORKER);
	/* The worker has moved. */
	other(s, 50, 0, END, 0, WORKER, 0xa0);
	e = assert_call(s, EVENT_EXIT, 50, "a_work", KERNEL_NAMELESS);
	assert_int_equal(e.value, 30);
	assert_int_equal(e.cpu, 0);
	/* It was queued once. */
	other(s, 60, 1, START, 0, WORKER, 0xa0);
	other(s, 70, 1, END, 0, WORKER, 0xa0);
	assert_none(s);
}

static void work_of_others(void **state)
{
	struct state *s = *state;

	own(s, 10, 0, QUEUE, 0, 0xa0);
	other(s, 20, 1, START, 0, WORKER, 0xb0);
	other(s, 30, 1, RAISE, 0, WORKER, NET_RX);
	other(s, 35, 1, ENTRY, 0, WORKER, NET_RX);
	other(s, 36, 1, EXIT, 0, WORKER, NET_RX);
	other(s, 40, 1, END, 0, WORKER, 0xb0);
	assert_none(s);
}

/* What the program's work raises is the program's, too, and what that queues. */
static void a_chain(void **state)
{
	struct state *s = *state;
	struct event e;

	own(s, 10, 0, QUEUE, 0, 0xa0);
	other(s, 20, 1, START, 0, WORKER, 0xa0);
	other(s, 25, 1, RAISE, 0, WORKER, NET_RX);
	/* The same softirq of another CPU is another's. */
	other(s, 26, 0, ENTRY, 0, 7, NET_RX);
	other(s, 27, 0, EXIT, 0, 7, NET_RX);
	other(s, 30, 1, ENTRY, 0, WORKER, NET_RX);
	other(s, 32, 1, QUEUE, SOFTIRQ, WORKER, 0xc0);
	other(s, 35, 1, EXIT, 0, WORKER, NET_RX);
	other(s, 40, 1, END, 0, WORKER, 0xa0);
	other(s, 50, 0, START, 0, WORKER + 1, 0xc0);
	assert_call(s, EVENT_ENTRY, 20, "a_work", KERNEL_NAMELESS);
	e = assert_call(s, EVENT_ENTRY, 30, "net_rx_action", "softirqs/1");
	assert_true(s->info->threads.at[e.thread].tid > 1u << 22);
	e = assert_call(s, EVENT_EXIT, 35, "net_rx_action", "softirqs/1");
	assert_int_equal(e.value, 5);
	assert_call(s, EVENT_EXIT, 40, "a_work", KERNEL_NAMELESS);
	assert_call(s, EVENT_ENTRY, 50, "a_work", KERNEL_NAMELESS);
	assert_none(s);
}

/* Its beginning is known only afterwards. */
static void an_interrupt_that_wakes(void **state)
{
	struct state *s = *state;

	other(s, 10, 0, IRQ, HARDIRQ, 0, 4);
	other(s, 20, 0, IRQ_END, HARDIRQ, 0, 4);
	other(s, 30, 0, TIMER, HARDIRQ, 0, 236);
	other(s, 31, 1, IRQ, HARDIRQ, 0, 4);
	assert_none(s);
	own(s, 35, 0, WAKING, HARDIRQ, 0);
	other(s, 38, 1, IRQ_END, HARDIRQ, 0, 4);
	other(s, 40, 0, TIMER_END, HARDIRQ, 0, 236);
	assert_call(s, EVENT_ENTRY, 30, "__sysvec_apic_timer_interrupt", "interrupts/0");
	assert_call(s, EVENT_EXIT, 40, "__sysvec_apic_timer_interrupt", "interrupts/0");
	assert_none(s);
	/* A thread of the program wakes another: that is no context. */
	other(s, 50, 0, IRQ, HARDIRQ, 0, 4);
	own(s, 55, 0, WAKING, 0, 0);
	other(s, 60, 0, IRQ_END, HARDIRQ, 0, 4);
	assert_none(s);
}

static void a_softirq_in_the_programs_own_time(void **state)
{
	struct state *s = *state;

	own(s, 10, 0, RAISE, 0, NET_RX);
	own(s, 20, 0, ENTRY, SOFTIRQ, NET_RX);
	other(s, 30, 0, ENTRY, 0, 7, NET_RX);
	assert_none(s);
	/* Later, in another's time; a number without a handler of its own has the caller's name. */
	own(s, 40, 0, RAISE, 0, SCHED);
	other(s, 50, 0, ENTRY, 0, 7, SCHED);
	assert_call(s, EVENT_ENTRY, 50, "handle_softirqs", "softirqs/0");
}

/* Calls end where records are missing, and what was raised there is nobody's. */
static void a_loss(void **state)
{
	struct state *s = *state;
	struct event e;

	own(s, 10, 0, QUEUE, 0, 0xa0);
	own(s, 11, 1, RAISE, 0, NET_RX);
	own(s, 12, 0, RAISE, 0, NET_RX);
	other(s, 20, 1, START, 0, WORKER, 0xa0);
	assert_call(s, EVENT_ENTRY, 20, "a_work", KERNEL_NAMELESS);
	kernel_elsewhere_lost(s->e, 1, 30);
	e = assert_call(s, EVENT_EXIT, 30, "a_work", KERNEL_NAMELESS);
	assert_int_equal(e.value, 10);
	other(s, 31, 1, ENTRY, 0, WORKER, NET_RX);
	other(s, 40, 1, END, 0, WORKER, 0xa0);
	assert_none(s);
	other(s, 41, 0, ENTRY, 0, 7, NET_RX);
	assert_call(s, EVENT_ENTRY, 41, "net_rx_action", "softirqs/0");
	/* A beginning without the end before it: that one is missing. */
	other(s, 50, 0, ENTRY, 0, 7, SCHED);
	assert_call(s, EVENT_EXIT, 50, "net_rx_action", "softirqs/0");
	assert_none(s);
}

static void more_than_can_be_remembered(void **state)
{
	struct state *s = *state;

	for (uint64_t i = 0; i < 4096; i++)
		own(s, i, 0, QUEUE, 0, 0x1000 + i);
	assert_int_equal(kernel_elsewhere_forgotten(s->e), 0);
	own(s, 5000, 0, QUEUE, 0, 0x1000);
	assert_int_equal(kernel_elsewhere_forgotten(s->e), 0);
	own(s, 5001, 0, QUEUE, 0, 0x9000);
	assert_int_equal(kernel_elsewhere_forgotten(s->e), 1);
	assert_int_equal(kernel_elsewhere_forgotten(s->e), 0);
	other(s, 6000, 1, START, 0, WORKER, 0x9000);
	assert_none(s);
}

/* Each record cut at each byte, and numbers as large as they can be. */
static void damage(void **state)
{
	static const unsigned all[] = { QUEUE, START, END, RAISE, ENTRY, EXIT, IRQ, IRQ_END, TIMER, TIMER_END, WAKING, 9999 };
	struct state *s = *state;
	struct event e;
	struct bytes b;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (uint32_t n = 0; n <= sizeof(b); n++) {
			struct kernel_page_record r = record(&b, n, all[i], 0xff, -1, UINT64_MAX, UINT64_MAX);

			r.n = n;
			kernel_elsewhere_cause(s->e, 3, &r);
			kernel_elsewhere_take(s->e, 3, &r);
			while (kernel_elsewhere_next(s->e, &e))
				assert_true(e.thread < s->info->threads.n);
		}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(work_of_the_program), TEST(work_of_others), TEST(a_chain), TEST(an_interrupt_that_wakes),
		TEST(a_softirq_in_the_programs_own_time), TEST(a_loss), TEST(more_than_can_be_remembered), TEST(damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
