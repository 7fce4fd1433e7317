/* SPDX-License-Identifier: MIT */
/* The monitors over any records of system calls, as a hostile program can write them: numbers of
 * calls, descriptors and results are the input's. Each step is an event, its thread, and its words.
 * A fault is a use or a close of a descriptor that was closed; what is told has a name. */
/* links: instance */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "instance/monitors.h"
#include "trace/trace_info.h"

#define THREADS 4u
#define WORDS_MOST 7u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_event(struct trace_info *info, const char *name)
{
	*vec_add(&info->events) =
		(struct trace_event){ (uint32_t)info->events.n, mem_strdup("raw_syscalls"),
				      mem_strdup(name), mem_strdup("") };
}

static struct trace_info *make_info(void)
{
	struct trace_info *info = trace_info_new();

	add_event(info, "sys_enter");
	add_event(info, "sys_exit");
	add_event(info, "other");
	for (uint32_t i = 0; i < THREADS; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1 + i / 2, .tid = 1 + i };
	return info;
}

static void check_step(void *arg, const struct monitor_step *s)
{
	(void)arg;
	if (!s->next && (strcmp(s->state, "closed") != 0 || !strcmp(s->event, "open")))
		abort();
	if (s->of >= RV_MONITORS_N || s->final != (s->next && !strcmp(s->next, "closed")))
		abort();
}

static void feed(struct monitors *m, struct event *e, const uint64_t *words)
{
	/* exactly as long as it says, for the sanitizer */
	uint64_t *payload = malloc(e->count + !e->count);

	memcpy(payload, words, e->count);
	e->payload = payload;
	monitors_event(m, e, check_step, NULL);
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cursor c = cursor_of(data, n);
	struct trace_info *info = make_info();
	struct monitors *m = monitors_new(info);
	uint64_t words[WORDS_MOST], tsc = 0;

	while (!c.bad && cursor_left(&c)) {
		uint8_t what = cursor_u8(&c), how = cursor_u8(&c);
		struct event e = { .tsc = ++tsc, .kind = what == 0xff ? EVENT_LOST : EVENT_TRACE, .fn = what & 3,
				   .thread = how >> 4 & 7, .count = 8 * (how % (WORDS_MOST + 1)) };

		for (unsigned i = 0; i < WORDS_MOST; i++)
			words[i] = 8 * i >= e.count ? 0 : how & 128 ? cursor_u64(&c)
						    : (uint64_t)(int8_t)cursor_u8(&c);
		feed(m, &e, words);
	}
	monitors_free(m);
	trace_info_free(info);
	return 0;
}
