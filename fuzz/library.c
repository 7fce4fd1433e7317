/* SPDX-License-Identifier: MIT */
/* libbrace over any trace file that can be read: everything that a program can ask is asked, and
 * numbers that it gets lead to descriptions. */
#include "../include/brace.h"
#include "trace_file.h"

#define STEPS_MOST 20000 /* a few bytes can stand for a million records */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed call has a sentence. */
static bool failed(int64_t r)
{
	if (r < 0 && !*brace_error())
		abort();
	return r < 0;
}

static void use_text(const char *s)
{
	if (s && strlen(s) > INT32_MAX)
		abort();
}

static void use_descriptions(struct brace_trace *t)
{
	use_text(brace_trace_info(t)->tracer);
	for (uint32_t i = 0; i < brace_trace_setting_count(t); i++)
		use_text(brace_trace_setting(t, i)->text);
	for (uint32_t i = 0; i < brace_trace_process_count(t); i++)
		use_text(brace_trace_process(t, i)->program);
	for (uint32_t i = 0; i < brace_trace_thread_count(t); i++) {
		use_text(brace_trace_thread(t, i)->name);
		if (brace_trace_thread(t, i)->process >= brace_trace_process_count(t))
			abort();
	}
	for (uint32_t i = 0; i < brace_trace_function_count(t) && i < STEPS_MOST; i++) {
		use_text(brace_trace_function(t, i)->name);
		use_text(brace_trace_function(t, i)->symbol);
		use_text(brace_trace_function(t, i)->file);
	}
	for (uint32_t i = 0; i < brace_trace_event_count(t); i++)
		for (uint32_t f = 0; f < brace_trace_event(t, i)->fields; f++)
			use_text(brace_trace_field(t, i, f)->type);
	if (brace_trace_function(t, UINT32_MAX) || brace_trace_event(t, UINT32_MAX))
		abort();
}

static void use_call(struct brace_trace *t, struct brace_calls *c, const struct brace_call *call)
{
	if (call->thread >= brace_trace_thread_count(t) ||
	    call->function >= brace_trace_function_count(t))
		abort();
	if (call->flags & BRACE_FLAG_ARGUMENTS)
		use_text(brace_calls_arguments(c));
	if (call->kind != BRACE_CALL_EVENT)
		return;
	use_text(brace_calls_line(c));
	for (uint32_t i = 0; i < brace_trace_event(t, call->event)->fields; i++) {
		const struct brace_value *v = brace_calls_field(c, i);

		use_text(v ? v->text : NULL);
		use_text(brace_trace_field(t, call->event, i)->name);
	}
	failed(brace_calls_find(c, "no such field"));
}

static void use_calls(struct brace_trace *t, const struct brace_part *part)
{
	static uint64_t time[64];
	static uint32_t function[64];
	struct brace_columns to = { .size = sizeof(to), .time = time, .function = function };
	const struct brace_call *call;
	struct brace_calls *c;
	ssize_t n;
	int r = 1;

	if (failed(brace_calls_open(t, part, &c)))
		return;
	for (int i = 0; i < STEPS_MOST && (r = brace_calls_next(c, &call)) > 0; i++)
		use_call(t, c, call);
	failed(r);
	for (int i = 0; i < 64 && (n = brace_calls_columns(c, &to, 64)) > 0; i++)
		while (n-- > 0)
			if (function[n] >= brace_trace_function_count(t))
				abort();
	brace_calls_close(c);
}

static void use_rows(struct brace_rows *r)
{
	for (int i = 0; i < STEPS_MOST && brace_rows_next(r) > 0; i++)
		for (unsigned c = 0; c <= brace_rows_count(r); c++) {
			use_text(brace_rows_name(r, c));
			use_text(brace_rows_text(r, c));
			if (brace_rows_type(r, c) == BRACE_TYPE_NULL && brace_rows_int(r, c))
				abort();
		}
	brace_rows_close(r);
}

static void use_tables(struct brace_trace *t, const struct brace_part *part)
{
	struct brace_query *q;
	struct brace_rows *r;

	if (!failed(brace_report_open(t, part, "calls", &r)))
		use_rows(r);
	if (failed(brace_query_open(t, &q)))
		return;
	if (!failed(brace_query_run(q, "SELECT * FROM slice LEFT JOIN thread_track ON track_id"
				       " = thread_track.id LIMIT 100", &r)))
		use_rows(r);
	brace_query_close(q);
}

static void ask(const uint8_t *bytes, size_t n)
{
	static const char *const options[] = { "filter=*a*", "min-duration=1us", "from=10%", NULL };
	struct brace_part part = { .size = sizeof(part), .options = options };
	struct brace_trace *t;

	if (failed(brace_trace_open_memory("fuzz", bytes, n, &t)))
		return;
	if (brace_trace_info(t)->records < STEPS_MOST) {
		use_descriptions(t);
		use_calls(t, NULL);
		use_calls(t, &part);
		use_tables(t, NULL);
		use_tables(t, &part);
	}
	brace_trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return trace_file_run(data, size, ask);
}
