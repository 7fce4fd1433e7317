/* SPDX-License-Identifier: MIT */
/* The table of system calls from any records of their events, as a damaged trace file can hold
 * them: numbers, descriptors, places and lengths of paths are the input's, and so is the format of
 * one event. The first byte chooses the rows, or single calls as lines; then each step is an event,
 * its thread, how much later, and its record. What was counted is what began. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "event/syscalls.h"
#include "report/syscalls.h"
#include "swallow.h"

#define THREADS 4u
#define WORDS_MOST 63u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint16_t numbers[] = {
	0, 1, 3, 32, 33, 56, 57, 72, 82, 165, 231, 257, 435, 9, 41, 44,
	/* those whose arguments lead to structures: event/syscall_copies.c */
	7, 13, 14, 16, 19, 20, 23, 46, 47, 54, 55, 59, 61, 63, 98, 99, 100, 115, 116, 118, 128, 131,
	137, 157, 202, 204, 217, 222, 223, 232, 233, 247, 262, 270, 271, 280, 281, 295, 302, 318, 332,
	45, 237, 238, 239, 256, 279,
};
#define EVENTS (2 + 2 * sizeof(numbers) / sizeof(*numbers))

static void add_event(struct trace_info *info, const struct event_entry *e)
{
	*vec_add(&info->events) = (struct trace_event){ (uint32_t)info->events.n,
							mem_strdup(e->format->system),
							mem_strdup(e->format->name),
							mem_strdup(e->text) };
}

/* Makes an info that has both raw events and the events of each system call. */
static struct trace_info *make_info(void)
{
	struct trace_info *info = trace_info_new();
	static struct event_catalogue *c; /* made once: it has 700 events */

	if (!c) {
		c = events_new();
		syscalls_provider.add_common(c);
	}
	info->clock.hz = 1000000000;
	add_event(info, events_find(c, "raw_syscalls", "sys_enter"));
	add_event(info, events_find(c, "raw_syscalls", "sys_exit"));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct syscall_events e = syscalls_find(c, numbers[i]);

		add_event(info, e.enter);
		add_event(info, e.exit);
	}
	/* The second image is what the first one's process executes. */
	for (uint32_t i = 0; i < THREADS; i++) {
		*vec_add(&info->images) = (struct trace_image){ .pid = 10 + i / 2,
								.tsc = 1000 + 1000 * (i % 2) };
		*vec_add(&info->threads) = (struct trace_thread){
			.pid = 10 + i / 2, .tid = 10 + i, .image = i, .comm = "a\nname" };
	}
	return info;
}

/* The place of openat's path: any. */
static void odd_format(struct trace_info *info, uint16_t place)
{
	for (size_t i = 0; i < info->events.n; i++) {
		struct trace_event *e = &info->events.at[i];
		char *at = strcmp(e->name, "sys_enter_openat") == 0 ?
				   strstr(e->format, "__filename_val;\toffset:48") : NULL;
		char *text;

		if (!at)
			continue;
		text = mem_printf("%.*s__filename_val;\toffset:%u%s", (int)(at - e->format), e->format,
				  place, at + strlen("__filename_val;\toffset:48"));
		free(e->format);
		e->format = text;
	}
}

static void run_steps(struct syscalls *s, struct cursor *c)
{
	uint64_t words[WORDS_MOST], tsc = 1000;

	while (!c->bad && cursor_left(c)) {
		uint8_t what = cursor_u8(c), n = cursor_u8(c);
		struct event e = { .kind = what == 0xff ? EVENT_LOST : EVENT_TRACE, .fn = what % EVENTS,
				   .thread = n >> 6, .payload = words };

		tsc += cursor_u16(c);
		e.tsc = tsc;
		n %= 64;
		for (unsigned i = 0; i < n && i < WORDS_MOST; i++)
			words[i] = cursor_u64(c);
		e.count = 8u * (n < WORDS_MOST ? n : WORDS_MOST);
		/* Exactly as long as it says, for the sanitizer. */
		if (e.kind == EVENT_TRACE) {
			uint64_t *exact = malloc(e.count + !e.count);

			memcpy(exact, words, e.count);
			e.payload = exact;
			syscalls_event(s, &e);
			free(exact);
		} else {
			syscalls_event(s, &e);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const enum syscalls_column columns[] = { SYSCALLS_TOTAL, SYSCALLS_P99,
							SYSCALLS_NAME, SYSCALLS_ERRORS };
	struct cursor c = cursor_of(data, n);
	struct trace_info *info = make_info();
	uint8_t how = cursor_u8(&c);
	struct syscalls *s;
	struct out o;

	out_init(&o, swallow, NULL);
	if (how & 4)
		odd_format(info, cursor_u16(&c));
	s = syscalls_new(info, how % 4);
	if (how & 64)
		syscalls_print_lines(s, &o, how & 128);
	run_steps(s, &c);
	syscalls_end(s);
	syscalls_sort(s, columns[how >> 3 & 3], how & 32);
	syscalls_print_table(s, how >> 6, &o);
	syscalls_print_json(s, how >> 6, &o);
	out_flush(&o);
	out_free(&o);
	syscalls_free(s);
	trace_info_free(info);
	return 0;
}
