/* SPDX-License-Identifier: MIT */
/* Findings from all records as they come: the function profile and the stack tracer, on any
 * records of a few threads, with changes of settings in between. Records are whole, as the drain
 * sees to; all else is the program's. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "instance/profile.h"
#include "instance/stacks.h"
#include "shared/record.h"

#define THREADS 4
#define WORDS_MOST 2048

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int swallow(void *arg, const char *bytes, size_t n)
{
	(void)arg;
	(void)bytes;
	(void)n;
	return 0;
}

static struct trace_info *make_info(void)
{
	static const char strings[] = "\0main\0longjmp\0_ZN1a1bEv";
	static const uint32_t names[] = { 0, 1, 6, 14 };
	struct trace_info *info = trace_info_new();
	struct trace_module *m;

	info->clock.hz = 1000000000;
	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup("/m"), .cmdline = mem_strdup("m") };
	for (uint64_t site = 0; site < 64; site++)
		*vec_add(&info->images.at[0].sites) = site ? 0x1000 + 8 * site : 0;
	m = vec_add(&info->modules);
	*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m"), .base = 0x1000, .start = 0x1000, .end = 0x2000 };
	for (size_t i = 0; i < sizeof(strings); i++)
		*vec_add(&m->strings) = strings[i];
	for (uint32_t i = 0; i < 16; i++)
		*vec_add(&m->functions) = (struct trace_function){ .vaddr = 32 * i, .size = 32, .name = names[i % 4], .hook = i % 3 };
	for (uint32_t i = 0; i < THREADS; i++) /* ids that no process has: nobody's maps are read */
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1u << 30, .tid = (1u << 30) + i };
	return info;
}

/* Small numbers mostly: ids and sites that there are. */
static uint64_t any_word(struct cursor *c)
{
	uint8_t how = cursor_u8(c);
	uint64_t tsc = cursor_u16(c);

	if (how & 0x80)
		return cursor_u64(c);
	if (how & 0x40)
		return record_word(tsc, record_event_id(cursor_u8(c) % 4, cursor_u8(c) % 16), RECORD_EVENT);
	return record_word(tsc, cursor_u8(c) % 70, how % 3);
}

static struct chunk *any_chunk(struct cursor *c)
{
	uint64_t words[WORDS_MOST];
	size_t n = 0, whole = 0, want = cursor_u16(c) % (WORDS_MOST - RECORD_PAYLOAD_MAX - 1);
	struct drain_run run = { .slot = cursor_u8(c) % THREADS, .cpu = cursor_u8(c), .near_tsc = cursor_u16(c),
				 .lost = cursor_u8(c) % 4 == 0, .words = words };
	struct chunk *chunk;

	while (n < want && cursor_left(c))
		words[n++] = any_word(c);
	while (whole < n && whole + 1 + record_payload(words[whole]) <= n)
		whole += 1 + record_payload(words[whole]);
	run.n = whole;
	chunk = chunk_new(&run);
	chunk->resolved = true;
	return chunk;
}

static void change(struct settings *s, struct profile *p, struct stacks *st, struct cursor *c)
{
	static const char *const filters[] = { "", "main", "lo*", "a::b*", "!main" };
	struct err ignored;

	settings_write(s, "set_ftrace_filter", filters[cursor_u8(c) % 5], false, &ignored);
	settings_write(s, "stack_trace_filter", filters[cursor_u8(c) % 5], false, &ignored);
	settings_write(s, "set_ftrace_pid", cursor_u8(c) & 1 ? "1073741825" : "", false, &ignored);
	settings_write(s, "options/graph-time", cursor_u8(c) & 1 ? "1" : "0", false, &ignored);
	profile_configure(p, s);
	stacks_configure(st, s);
	if (cursor_u8(c) & 1)
		stacks_reset(st, cursor_u16(c));
	if (cursor_u8(c) & 1) {
		stacks_end(st, cursor_u16(c));
		stacks_begin(st, s, cursor_u16(c));
	}
}

static void show(const struct settings *s, const struct profile *p, struct stacks *st)
{
	struct out out;

	out_init(&out, swallow, NULL);
	for (unsigned cpu = 0; cpu < 3; cpu++)
		profile_show(p, cpu, s, &out);
	stacks_show(st, &out);
	if (stacks_max(st) > UINT64_MAX - 1)
		abort();
	out_flush(&out);
	out_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct cursor c = cursor_of(bytes, n);
	struct trace_info *info = make_info();
	struct settings s;
	struct profile *p;
	struct stacks *st = stacks_new(info);

	settings_init_tree(&s);
	p = profile_new(info, &s, cursor_u8(&c));
	stacks_begin(st, &s, cursor_u8(&c));
	while (cursor_left(&c)) {
		struct chunk *chunk = any_chunk(&c);

		profile_feed(p, chunk);
		stacks_feed(st, chunk);
		chunk_put(chunk);
		if (cursor_u8(&c) % 8 == 0)
			change(&s, p, st, &c);
	}
	show(&s, p, st);
	profile_end(p, 0);
	profile_free(p);
	stacks_free(st);
	settings_free(&s);
	trace_info_free(info);
	return 0;
}
