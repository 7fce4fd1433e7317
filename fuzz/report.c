/* SPDX-License-Identifier: MIT */
/* The printers and the summary on any events and any tables: what a damaged trace file can
 * hold once it has been read. The first 8 bytes are the options. If the next one is even, the
 * tables are those of a whole file, and the others are events; else the tables' odd values stand
 * before the events. */
#include <stdlib.h>

#include "base/cursor.h"
#include "base/escape.h"
#include "report/function.h"
#include "report/graph.h"
#include "report/openings.h"
#include "report/summary.h"

#define EVENTS_MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* All of it is text that a terminal may be given. */
static int swallow(void *arg, const char *bytes, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f)
			abort();
	if (escape_text_run(bytes, n) != n)
		abort();
	return 0;
}

static void add_module(struct trace_info *info, struct cursor *c)
{
	static const char strings[] = "\0f\0\xff\"\x1b\0\xc2\x9b\xe2\x80\xae";
	struct trace_module *m = vec_add(&info->modules);

	*m = (struct trace_module){ .image = cursor_u8(c) % 3, .path = mem_strdup("/m"), .name = mem_strdup("m"),
				    .base = cursor_u16(c), .end = 0x10000 };
	m->first_id = cursor_u8(c) & 1 ? cursor_u32(c) : cursor_u8(c);
	for (size_t i = 0; i < sizeof(strings); i++)
		*vec_add(&m->strings) = strings[i];
	for (uint64_t i = 0, vaddr = 0; i < 8; i++)
		*vec_add(&m->functions) = (struct trace_function){
			.vaddr = vaddr += cursor_u8(c), .size = cursor_u8(c), .name = cursor_u8(c) % sizeof(strings) };
}

/* An event with fields of every kind, and one whose format says anything. */
static void add_events(struct trace_info *info, struct cursor *c)
{
	static const char whole[] = "name: e\nID: 700\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc int[] a;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:char c[8];\toffset:16;\tsize:8;\tsigned:1;\n"
		"\tfield:long v;\toffset:24;\tsize:8;\tsigned:1;\n"
		"\nprint fmt: ";
	static const char print[] = "\"%s %s %s %ld\", __get_str(s), "
		"__print_array(__get_dynamic_array(a), __get_dynamic_array_len(a) / 4, 4), REC->c, REC->v\n";
	size_t n = cursor_u16(c) % 512;
	const char *any = cursor_bytes(c, n);

	for (uint32_t i = 0; i < 2; i++)
		*vec_add(&info->events) = (struct trace_event){ .index = i, .system = mem_strdup("s"), .name = mem_strdup("e"),
			.format = i && any ? mem_printf("%s%.*s\n", whole, (int)n, any) : mem_printf("%s%s", whole, print) };
}

static struct trace_info *make_info(struct cursor *c)
{
	struct trace_info *info = trace_info_new();

	info->clock.hz = cursor_u32(c);
	info->clock.tsc = cursor_u64(c);
	info->clock.mono_ns = cursor_u64(c);
	info->cpus = cursor_u32(c);
	for (int i = 0; i < 2; i++) {
		*vec_add(&info->images) = (struct trace_image){ .tsc = cursor_u8(c) };
		for (int s = 0; s < 16; s++)
			*vec_add(&info->images.at[i].sites) = cursor_u16(c);
	}
	for (int i = 0; i < 3; i++)
		add_module(info, c);
	for (int i = 0; i < 4; i++) {
		struct trace_thread *t = vec_add(&info->threads);

		*t = (struct trace_thread){ .pid = cursor_u8(c) & 1, .tid = cursor_u32(c), .records = cursor_u8(c) };
		t->image = cursor_u8(c) & 1 ? cursor_u32(c) : cursor_u8(c) % 3;
		memset(t->comm, cursor_u8(c), sizeof(t->comm));
	}
	add_events(info, c);
	return info;
}

/* Three modules of eight functions each: ids 1 to 24, and sites 1 to 15 in the first of them. */
static struct trace_info *true_info(void)
{
	static const char strings[] = "\0main\0longjmp\0_ZN1a1bEv\0f";
	static const uint32_t names[] = { 1, 6, 14, 24 };
	struct trace_info *info = trace_info_new();
	struct cursor none = cursor_of("", 0);

	info->clock = (struct trace_clock){ .hz = 1000000000, .tsc = 1, .mono_ns = 1, .real_ns = 1 };
	info->cpus = 4;
	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup("/m"), .cmdline = mem_strdup("m") };
	for (uint32_t s = 0; s < 16; s++)
		*vec_add(&info->images.at[0].sites) = s ? 0x10000 + 64 * s + 5 : 0;
	for (uint32_t i = 0; i < 3; i++) {
		struct trace_module *m = vec_add(&info->modules);

		*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m"), .base = 0x10000 * (i + 1),
					    .start = 0x10000 * (i + 1), .end = 0x10000 * (i + 2), .first_id = 1 + 8 * i };
		for (size_t k = 0; k < sizeof(strings); k++)
			*vec_add(&m->strings) = strings[k];
		for (uint32_t k = 0; k < 8; k++)
			*vec_add(&m->functions) = (struct trace_function){ .vaddr = 128 * k, .size = 128, .name = names[k % 4] };
	}
	for (uint32_t i = 0; i < 4; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1 + i / 2, .tid = 1 + i, .comm = "t" };
	add_events(info, &none);
	return info;
}

static uint64_t payloads[EVENTS_MOST][8];

static struct event make_event(struct cursor *c, uint64_t *payload)
{
	uint8_t kind = cursor_u8(c);
	/* No records are unpacked to a step. */
	struct event e = { .kind = (kind & 15) == EVENT_STEP ? EVENT_TRACE : kind & 15,
			   .cpu = kind & 16 ? cursor_u16(c) : 0 };

	e.thread = cursor_u8(c) % 5;
	e.fn = kind & 32 ? cursor_u32(c) : cursor_u8(c);
	e.site = kind & 64 ? cursor_u32(c) : cursor_u8(c) % 20;
	e.tsc = cursor_u16(c);
	e.begin = cursor_u16(c);
	e.flags = cursor_u8(c);
	e.count = kind & 128 ? cursor_u64(c) : cursor_u8(c); /* few stack pointers, so that they meet again */
	/* Only these have a payload; a stream gives one to each of them. */
	if (e.kind != EVENT_ENTRY && e.kind != EVENT_CALL && e.kind != EVENT_ENTRY_ONLY)
		e.flags &= (uint8_t)~EVENT_ARGUMENTS;
	if (e.kind == EVENT_TRACE || e.flags & EVENT_ARGUMENTS) {
		e.fn %= 3;
		e.count = e.count % 9 * 8;
		for (uint64_t i = 0; i < e.count / 8; i++)
			payload[i] = cursor_u64(c);
		e.payload = payload;
	}
	if (e.kind == EVENT_SWITCH)
		e.begin &= 255;
	return e;
}

struct all_events { struct event at[EVENTS_MOST]; size_t n; struct trace_info *info; };
struct reading { const struct all_events *all; uint32_t thread; size_t next; };

static void *open_events(void *of, uint32_t thread)
{
	struct reading *r = mem_zalloc(sizeof(*r));

	*r = (struct reading){ of, thread, 0 };
	return r;
}

static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	struct reading *r = cursor;
	size_t got = 0;

	(void)err;
	for (; r->next < r->all->n && got < n; r->next++)
		if (r->all->at[r->next].thread == r->thread)
			out[got++] = r->all->at[r->next];
	return (int)got;
}

/* All of them in their order, which need not be time's. */
struct stream { struct source source; const struct all_events *all; size_t next; };

static int next_of_all(struct source *source, struct event *out, struct err *err)
{
	struct stream *s = (struct stream *)source;

	(void)err;
	if (s->next == s->all->n)
		return 0;
	*out = s->all->at[s->next++];
	return 1;
}

static void close_stream(struct source *source)
{
	free(source);
}

static struct source *open_all(void *of, struct err *err)
{
	static const struct source_ops ops = { next_of_all, close_stream };
	const struct all_events *all = of;
	struct stream *s = mem_zalloc(sizeof(*s));

	(void)err;
	s->source = (struct source){ .ops = &ops, .info = all->info };
	s->all = all;
	return &s->source;
}

/* With where spans began. */
static struct source *stream_of(struct trace_info *info, struct all_events *all)
{
	const struct summary_input in = { info, all, open_events, next_events, free };
	struct err err;

	return openings_add(open_all(all, &err), &in, &err);
}

static void print_all(struct trace_info *info, struct all_events *all, uint64_t options)
{
	struct source *stream = stream_of(info, all);
	struct event e;
	struct err err;
	struct trace_header header = { 1, 2, 3, NULL };
	struct function_printer *f;
	struct graph *g;
	struct out out;

	out_init(&out, swallow, NULL);
	f = function_new(info, options, &out);
	g = graph_new(info, options, &out);
	function_header(f, &header);
	graph_header(g, &header);
	while (stream->ops->next(stream, &e, &err) > 0) {
		function_event(f, &e);
		graph_event(g, &e);
	}
	stream->ops->close(stream);
	function_flush(f);
	graph_flush(g);
	function_free(f);
	graph_free(g);
	out_free(&out);
}

static void sum_up(struct trace_info *info, struct all_events *all, bool by_thread)
{
	struct summary_input in = { info, all, open_events, next_events, free, .all = open_all,
				    .by_thread = by_thread };
	struct summary s;
	struct out out;
	struct err err;

	out_init(&out, swallow, NULL);
	if (summary_make(&in, 2, &s, &err))
		abort();
	summary_sort(&s, SUMMARY_P99, false);
	summary_print_table(&s, 0, &out);
	summary_print_json(&s, 0, &out);
	summary_free(&s);
	out_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct cursor c = cursor_of(bytes, n);
	struct all_events *all = mem_zalloc(sizeof(*all));
	uint64_t options = cursor_u64(&c);
	struct trace_info *info = cursor_u8(&c) & 1 ? make_info(&c) : true_info();

	for (; cursor_left(&c) && all->n < EVENTS_MOST; all->n++)
		all->at[all->n] = make_event(&c, payloads[all->n]);
	all->info = info;
	print_all(info, all, options);
	sum_up(info, all, options >> 63);
	trace_info_free(info);
	free(all);
	return 0;
}
