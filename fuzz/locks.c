/* SPDX-License-Identifier: MIT */
/* The table of locks from any records of the functions that take and release them, as a damaged
 * trace file can hold them: functions, arguments, sites and values are the input's. The first byte
 * chooses the rows; then each step is an event, its thread, how much later, and its words. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "model/lock_functions.h"
#include "one_module.h"
#include "report/locks.h"
#include "shared/record.h"
#include "swallow.h"

#define THREADS 4u
#define FUNCTIONS_MOST 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* One module has all functions, ids from 1 on, and a program's after them. */
static struct trace_info *make_info(void)
{
	struct trace_info *info = trace_info_new();
	struct trace_module *m = add_module(info, 0);

	for (uint32_t i = 0; i < FUNCTIONS_MOST; i++) {
		uint32_t name = (uint32_t)m->strings.n;

		add_string(m, i < 25 && lock_functions[i].name ? lock_functions[i].name : "f");
		*vec_add(&m->functions) = (struct trace_function){ .vaddr = 64 * i, .size = 64, .name = name };
	}
	add_threads(info, THREADS);
	*vec_add(&info->events) = (struct trace_event){ 0, mem_strdup("syscalls"), mem_strdup("sys_enter_futex"),
							mem_strdup("") };
	return info;
}

static void feed(struct locks *l, struct event *e, struct cursor *c, unsigned words)
{
	uint64_t *payload = malloc(8 * words + !words); /* exactly as long as it says, for the sanitizer */

	for (unsigned i = 0; i < words; i++)
		payload[i] = cursor_u8(c);
	if (words && e->kind == EVENT_TRACE) /* what a row is of, and how many locks were held */
		payload[0] |= (payload[0] & 0x30) << 12 | (payload[0] & 8) << 5;
	e->count = 8 * words;
	e->payload = payload;
	locks_event(l, e);
	free(payload);
}

static void run_steps(struct locks *l, struct cursor *c)
{
	static const uint8_t kinds[] = { EVENT_ENTRY, EVENT_EXIT, EVENT_TRACE, EVENT_LOST, EVENT_TAIL, EVENT_ENTRY_ONLY,
					 EVENT_UNWIND, EVENT_CALL };
	uint64_t tsc = 1000;

	while (!c->bad && cursor_left(c)) {
		uint8_t what = cursor_u8(c), how = cursor_u8(c);
		struct event e = { .kind = kinds[what & 7], .thread = what >> 3 & 3 };

		tsc += cursor_u8(c);
		e.tsc = tsc;
		e.fn = cursor_u8(c);
		e.site = how & 15;
		e.value = how >> 7 ? cursor_u8(c) : 0;
		e.flags = how >> 7 ? EVENT_VALUE : 0;
		e.count = e.kind == EVENT_UNWIND ? how & 3 : 0;
		if (e.kind == EVENT_TRACE)
			e.fn = how & 1 ? EVENT_LOCK_ROW : 0;
		if (e.kind == EVENT_ENTRY && how & 64)
			e.flags |= EVENT_ARGUMENTS;
		if (e.kind == EVENT_TRACE || e.flags & EVENT_ARGUMENTS)
			feed(l, &e, c, how & 1 ? how >> 1 & 63 : how >> 4 & 3);
		else
			locks_event(l, &e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cursor c = cursor_of(data, n);
	struct trace_info *info = make_info();
	uint8_t how = cursor_u8(&c);
	struct locks *l = locks_new(info);
	struct out o;

	out_init(&o, swallow, NULL);
	run_steps(l, &c);
	locks_end(l);
	locks_print_table(l, how % LOCKS_BY_N, (how >> 1) % LOCKS_COLUMNS_N, how >> 6, &o);
	locks_print_json(l, how % LOCKS_BY_N, (how >> 1) % LOCKS_COLUMNS_N, how >> 6, &o);
	out_flush(&o);
	out_free(&o);
	locks_free(l);
	trace_info_free(info);
	return 0;
}
