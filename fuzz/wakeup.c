/* SPDX-License-Identifier: MIT */
/* The table of wake-ups from any records of its events, as a damaged trace file can hold them:
 * numbers of calls, descriptors, futexes, threads and processes are the input's, and so are places
 * and lengths of copies. The first byte chooses the rows; then each step is an event, its thread,
 * how much later, and its record, of small words or of any. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "event/syscalls.h"
#include "event/tasks.h"
#include "report/wakeup.h"
#include "swallow.h"

#define THREADS 4u
#define WORDS_MOST 15u
#define EVENTS 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_event(struct trace_info *info, const char *system, const char *name, const char *text)
{
	const uint32_t number = (uint32_t)info->events.n; /* vec_add() changes it */

	*vec_add(&info->events) = (struct trace_event){ number, mem_strdup(system), mem_strdup(name),
							mem_strdup(text) };
}

static void add_entry(struct trace_info *info, const struct event_entry *e)
{
	add_event(info, e->format->system, e->format->name, e->text);
}

/* Made once: it has 700 events. */
static struct event_catalogue *catalogue(void)
{
	static struct event_catalogue *c;
	struct err err;

	if (!c) {
		c = events_new();
		syscalls_provider.add_common(c);
		if (tasks_add_told(c, &tasks_provider, "sched_switch", &err))
			abort();
	}
	return c;
}

static struct trace_info *make_info(void)
{
	static const char cond[] = "name: pthread_cond_wait\nID: 900\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:u64 arg1;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\nprint fmt: \"arg1=0x%Lx\", REC->arg1\n";
	struct trace_info *info = trace_info_new();
	struct event_catalogue *c = catalogue();

	info->clock.hz = 1000000000;
	add_entry(info, events_find(c, "raw_syscalls", "sys_enter"));
	add_entry(info, events_find(c, "raw_syscalls", "sys_exit"));
	add_entry(info, events_find(c, "sched", "sched_switch"));
	add_entry(info, events_find(c, "syscalls", "sys_exit_pipe2"));
	add_entry(info, events_find(c, "syscalls", "sys_exit_socketpair"));
	add_entry(info, events_find(c, "syscalls", "sys_enter_poll"));
	add_event(info, "uprobes", "pthread_cond_wait", cond);
	for (uint32_t i = 0; i < THREADS; i++)
		*vec_add(&info->threads) = (struct trace_thread){
			.pid = 1 + i / 2, .tid = 1 + i % 3, .comm = "a\nname" };
	return info;
}

static void feed(struct wakeup *w, const struct event *e, const uint64_t *words)
{
	struct event exact = *e;
	uint64_t *payload = malloc(e->count + !e->count); /* exactly as long as it says, for the sanitizer */

	memcpy(payload, words, e->count);
	exact.payload = payload;
	wakeup_event(w, &exact);
	free(payload);
}

/* Nothing is found before a time that was called the horizon. */
static uint64_t horizon;

static void check_found(void *arg, const struct wakeup_found *f)
{
	(void)arg;
	if (f->enter < horizon)
		abort();
}

static void run_steps(struct wakeup *w, struct cursor *c)
{
	uint64_t words[WORDS_MOST], tsc = 1000;

	while (!c->bad && cursor_left(c)) {
		uint8_t what = cursor_u8(c), n = cursor_u8(c);
		struct event e = { .kind = what == 0xff ? EVENT_LOST : EVENT_TRACE, .fn = what % EVENTS,
				   .thread = n >> 5 & 3 };

		tsc += cursor_u8(c);
		e.tsc = tsc;
		for (unsigned i = 0; i < WORDS_MOST; i++)
			words[i] = i >= n % 16 ? 0 : n & 128 ? cursor_u64(c) : cursor_u8(c);
		e.count = 8u * (n % 16 < WORDS_MOST ? n % 16 : WORDS_MOST);
		if (e.kind == EVENT_TRACE)
			feed(w, &e, words);
		else
			wakeup_event(w, &e);
		horizon = wakeup_horizon(w, tsc, UINT64_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cursor c = cursor_of(data, n);
	struct trace_info *info = make_info();
	uint8_t how = cursor_u8(&c);
	struct wakeup *w = wakeup_new(info, how % WAKEUP_BY_N);
	struct out o;

	out_init(&o, swallow, NULL);
	horizon = 0;
	wakeup_watch(w, check_found, NULL);
	run_steps(w, &c);
	wakeup_end(w);
	wakeup_lacks(w);
	wakeup_sort(w, (how >> 2) % WAKEUP_COLUMNS_N, how & 32);
	wakeup_print_table(w, how >> 6, &o);
	wakeup_print_json(w, how >> 6, &o);
	out_flush(&o);
	out_free(&o);
	wakeup_free(w);
	trace_info_free(info);
	return 0;
}
