/* SPDX-License-Identifier: MIT */
/* A model, and records that it is checked against, both anybody's: the input up to the first NUL is
 * the model's text, the rest are events: what it is, whose, how much later, and its words. What is
 * printed has no control characters. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "one_module.h"
#include "report/verify.h"
#include "shared/record.h"
#include "swallow.h"

#define THREADS 4u
#define FUNCTIONS 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Functions a to h, ids from 1 on; threads of a process that executed, and of one that forked. */
static struct trace_info *make_info(void)
{
	struct trace_info *info = trace_info_new();
	struct trace_module *m = add_module(info, 1);

	info->values = true;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		const char name[] = { (char)('a' + i), '\0' };
		const uint32_t at = (uint32_t)m->strings.n;
		uint32_t prototype;

		add_string(m, name);
		prototype = (uint32_t)m->strings.n;
		add_string(m, i & 1 ? "p(x=u8,y=p)" : "p(x=p)");
		*vec_add(&m->functions) = (struct trace_function){ .vaddr = 64 * i, .size = 64, .name = at,
								   .hook = 1, .prototype = prototype };
	}
	add_threads(info, THREADS);
	*vec_add(&info->events) = (struct trace_event){
		0, mem_strdup("s"), mem_strdup("e"),
		mem_strdup("name: e\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
			   "\tfield:int fd;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	};
	return info;
}

static void feed(struct verify *v, struct event *e, struct cursor *c, unsigned words)
{
	/* exactly as long as it says, for the sanitizer */
	uint64_t *payload = malloc(8 * words + !words);

	for (unsigned i = 0; i < words; i++)
		payload[i] = cursor_u8(c);
	e->count = 8 * words;
	e->payload = payload;
	verify_event(v, e);
	free(payload);
}

static void run_steps(struct verify *v, struct cursor *c)
{
	static const uint8_t kinds[] = { EVENT_ENTRY, EVENT_EXIT, EVENT_TRACE, EVENT_LOST, EVENT_TAIL, EVENT_ENTRY_ONLY,
					 EVENT_UNWIND, EVENT_CALL };
	uint64_t tsc = 1000;

	while (!c->bad && cursor_left(c)) {
		const uint8_t what = cursor_u8(c), how = cursor_u8(c);
		struct event e = { .kind = kinds[what & 7], .thread = what >> 3 & 7, .fn = how & 15, .site = how & 15 };

		tsc += cursor_u8(c);
		e.tsc = tsc;
		if (e.kind == EVENT_EXIT && how & 16) {
			e.flags = EVENT_VALUE;
			e.value = cursor_u8(c);
		}
		if (e.kind == EVENT_ENTRY)
			e.flags = (how & 16 ? EVENT_ARGUMENTS : 0) | (how & 32 ? EVENT_HANDLER : 0);
		e.count = e.kind == EVENT_UNWIND ? how & 3 : 0;
		if (e.kind == EVENT_TRACE || e.flags & EVENT_ARGUMENTS)
			feed(v, &e, c, how >> 6);
		else
			verify_event(v, &e);
	}
}

static void check(const struct automaton *a, const struct automaton_bindings *b, struct cursor *c)
{
	struct trace_info *info = make_info();
	const uint8_t how = cursor_u8(c);
	struct verify *v = verify_new(info, a, b, how & 1);
	struct out o;

	run_steps(v, c);
	verify_end(v);
	if (verify_faults(v) > verify_events(v))
		abort();
	verify_unrecorded(v);
	out_init(&o, swallow, NULL);
	verify_print_text(v, how >> 1 & 3, &o);
	verify_print_json(v, how >> 1 & 3, &o);
	out_flush(&o);
	out_free(&o);
	verify_free(v);
	trace_info_free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *end = memchr(data, 0, n);
	const size_t text = end ? (size_t)(end - data) : n;
	struct automaton_bindings b = { 0 };
	struct cursor c = cursor_of(data + text, n - text);
	char *exact = malloc(text + !text); /* for the sanitizer */
	struct automaton *a;
	struct err err;

	memcpy(exact, data, text);
	if (automaton_read(exact, text, &a, &err) == 0) {
		cursor_u8(&c);
		if (automaton_bindings_read(a, &b, &err) == 0)
			check(a, &b, &c);
		automaton_bindings_free(&b);
		automaton_free(a);
	}
	free(exact);
	return 0;
}
