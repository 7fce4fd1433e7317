/* SPDX-License-Identifier: MIT */
/* Any records as the events by which the kernel's part learns what others do for a program
 * (kernel/elsewhere.h), of four CPUs and in any order, with losses between them. Whatever they are,
 * a track or worker has one call at a time, which ends once, not before it began. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "kernel/elsewhere.h"
#include "kernel_part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define WORK "\tfield:void * work;\toffset:8;\tsize:8;\tsigned:0;\n"
#define FUNCTION "\tfield:void * function;\toffset:16;\tsize:8;\tsigned:0;\n"
#define VECTOR "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n"
#define NUMBER "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
#define FORMAT(name, id, fields) \
	"name: " name "\nID: " #id "\nformat:\n" KERNEL_COMMON_FIELDS fields "\nprint fmt: \"\"\n"

static const char *const formats[][2] = {
	{ "workqueue", FORMAT("workqueue_queue_work", 1, WORK FUNCTION) },
	{ "workqueue", FORMAT("workqueue_execute_start", 2, WORK FUNCTION) },
	{ "workqueue", FORMAT("workqueue_execute_end", 3, WORK) },
	{ "irq", FORMAT("softirq_raise", 4, VECTOR) },
	{ "irq", FORMAT("softirq_entry", 5, VECTOR) },
	{ "irq", FORMAT("softirq_exit", 6, VECTOR) },
	{ "irq", FORMAT("irq_handler_entry", 7, NUMBER) },
	{ "irq", FORMAT("irq_handler_exit", 8, NUMBER) },
	{ "irq_vectors", FORMAT("local_timer_entry", 9, NUMBER) },
	{ "irq_vectors", FORMAT("local_timer_exit", 10, NUMBER) },
	{ "sched", FORMAT("sched_waking", 11, NUMBER) },
};

static const char symbols[] = "ffffffff81000000 T first\nffffffff81000100 t a_work\n"
			      "ffffffff81000300 T handle_irq_event\n"
			      "ffffffff81000400 T handle_softirqs\n"
			      "ffffffff81000500 T net_rx_action\n"
			      "ffffffff81000600 T __sysvec_apic_timer_interrupt\n"
			      "ffffffff81000700 T last\n";

/* The call that a thread is in, by its number; fn 0: none. */
typedef VEC(struct live_call { uint64_t tsc; uint32_t fn; }) live_calls;

static void check_call(live_calls *live, const struct event *e)
{
	struct live_call *c;

	while (live->n <= e->thread)
		*vec_add(live) = (struct live_call){ 0 };
	c = &live->at[e->thread];
	if (e->kind == EVENT_ENTRY) {
		if (c->fn || !e->fn)
			abort();
		*c = (struct live_call){ e->tsc, e->fn };
		return;
	}
	if (e->kind != EVENT_EXIT || c->fn != e->fn || e->tsc < c->tsc ||
	    e->value != e->tsc - c->tsc)
		abort();
	c->fn = 0;
}

/* A record of the input: what it is and of which CPU, the time since the one before, its length,
 * its bytes. */
static void take_record(struct kernel_elsewhere *e, struct cursor *c, uint64_t *tsc)
{
	const uint8_t what = cursor_u8(c), n = cursor_u8(c) % 64;
	const uint16_t cpu = what >> 2 & 3;
	struct kernel_page_record r = { .n = n };

	*tsc += cursor_u8(c);
	r.tsc = *tsc;
	r.data = cursor_bytes(c, n);
	if (!r.data)
		return;
	if ((what & 3) == 3)
		kernel_elsewhere_lost(e, cpu, *tsc);
	else if (what & 1)
		kernel_elsewhere_cause(e, cpu, &r);
	else
		kernel_elsewhere_take(e, cpu, &r);
}

static void take_all(struct kernel_elsewhere *e, const uint8_t *data, size_t n)
{
	struct cursor c = cursor_of(data, n);
	live_calls live = { 0 };
	struct event event;
	uint64_t tsc = 1;

	while (cursor_left(&c) && !c.bad) {
		take_record(e, &c, &tsc);
		while (kernel_elsewhere_next(e, &event))
			check_call(&live, &event);
	}
	vec_free(&live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kernel_part part;
	struct kernel_elsewhere *e;

	kernel_part_begin(&part, trace_info_new(), symbols);
	e = kernel_elsewhere_empty(&part.records);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (kernel_elsewhere_format(e, formats[i][0], formats[i][1], NULL))
			abort();
	take_all(e, data, n);
	kernel_elsewhere_free(e);
	kernel_part_end(&part);
	return 0;
}
