/* SPDX-License-Identifier: MIT */
/* A row for each call, in the order of their ends: comma-separated values with a heading (RFC
 * 4180), for spreadsheets, R, pandas and databases. exporter.c calls it on the command's thread;
 * only writing can fail, and struct out keeps that error. */
#include "export/formats.h"

#include <stdlib.h>
#include <string.h>

struct csv { struct walk walk; struct out *out; };

/* Only what needs quotes has them. */
static void put_text(struct out *o, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		out_str(o, text);
		return;
	}
	out_char(o, '"');
	for (; *text; text++) {
		if (*text == '"')
			out_char(o, '"');
		out_char(o, *text);
	}
	out_char(o, '"');
}

/* The columns of numbers, each with its comma: times in ns, depth 0 for an outermost call. */
static void put_numbers(struct csv *c, const struct walk_step *s)
{
	const struct walk_lane *l = &c->walk.lanes.at[s->lane];
	const struct trace_thread *t = &c->walk.info->threads.at[l->thread];
	const struct trace_clock *clock = &c->walk.info->clock;
	const uint64_t begin = s->frame->begin;
	const uint64_t numbers[] = {
		s->begin_ns, trace_clock_span_ns(clock, begin, s->ticks),
		trace_clock_span_ns(clock, begin + s->ticks - s->self, s->self),
		walk_process(&c->walk, s->lane), t->tid, l->coroutine, s->depth,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		out_u64(c->out, numbers[i], 1, ' ');
		out_char(c->out, ',');
	}
}

/* The columns of text, the last of which has no comma behind it. A call that no record ended
 * says how instead of "returned". */
static void put_texts(struct csv *c, const struct walk_step *s)
{
	const struct walk_function *f = &c->walk.functions.at[s->function];
	char *thread = walk_lane_name(&c->walk, s->lane);
	char *returned = walk_returned(&c->walk, s);
	const char *end = export_end_word(s->flags), *arguments = s->frame->arguments;
	const char *const texts[] = {
		thread, f->text, f->file, end ? end : "returned", arguments ? arguments : "",
		returned ? returned : "",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (i)
			out_char(c->out, ',');
		put_text(c->out, texts[i]);
	}
	free(thread);
	free(returned);
}

/* A row stands for a whole call, so only its end makes one; events and losses have no columns. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct csv *c = arg;

	if (s->kind != WALK_END)
		return 0;
	put_numbers(c, s);
	put_texts(c, s);
	out_char(c->out, '\n');
	return 0;
}

/* The exporter's `write`. Calls are not cut at a loss: a row needs no balance. */
static int write_csv(struct export_job *job, struct err *err)
{
	struct csv c = { .out = job->out };
	int r;

	walk_init(&c.walk, job->source);
	c.walk.wants_arguments = true;
	out_str(c.out,
		"begin_ns,duration_ns,self_ns,pid,tid,coroutine,depth,thread,function,file,ended,arguments,returned\n");
	r = export_walk(job, &c.walk, take_step, &c, err);
	walk_free(&c.walk);
	return r;
}

const struct exporter export_csv = {
	.name = "csv", .summary = "a row for each call, for spreadsheets, pandas and databases",
	.holds = HOLDS_ARGUMENTS | HOLDS_VALUES | HOLDS_ENDS | HOLDS_KERNEL, .write = write_csv,
};
