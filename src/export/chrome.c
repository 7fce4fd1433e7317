/* SPDX-License-Identifier: MIT */
/* Chrome's JSON trace events: read by chrome://tracing, Perfetto's page, speedscope and others. A
 * call is a pair of B and E, in order on its thread, because pairs nest right also where the clock
 * is too coarse to tell their times apart. exporter.c calls it, on the thread that exports; `out`
 * keeps a write error. */
#include "export/files.h"
#include "export/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/event_text.h"

struct chrome {
	struct walk walk;
	struct event_texts *texts;
	struct out *out;
	bool begun; /* an event has been written */
};

/* The beginning of each event: phase, process, thread. A thread of the kernel keeps its own tid;
 * a coroutine has a made one, since the format has no stacks but threads'. */
static void put_head(struct chrome *c, const char *phase, uint32_t lane)
{
	const struct walk *w = &c->walk;

	out_str(c->out, c->begun ? ",\n{\"ph\":\"" : "{\"ph\":\"");
	c->begun = true;
	out_str(c->out, phase);
	out_str(c->out, "\",\"pid\":");
	out_u64(c->out, walk_process(w, lane), 1, ' ');
	out_str(c->out, ",\"tid\":");
	out_u64(c->out, walk_is_kernel(w, lane) ? walk_thread(w, lane)->tid : files_tid(w, lane),
		1, ' ');
}

/* The format's times are microseconds; three decimals keep the nanosecond. */
static void put_time(struct chrome *c, uint64_t ns)
{
	out_str(c->out, ",\"ts\":");
	export_put_us(c->out, ns);
}

/* Writes `key` as it is and the text as a JSON string; NULL is null. */
static void put_text(struct chrome *c, const char *key, const char *text)
{
	out_str(c->out, key);
	json_string(c->out, text);
}

/* B opens a slice. The file of the function is its category, by which viewers filter. */
static void put_begin(struct chrome *c, const struct walk_step *s)
{
	const struct walk_function *f = &c->walk.functions.at[s->function];

	put_head(c, "B", s->lane);
	put_time(c, s->ns);
	put_text(c, ",\"name\":", f->text);
	if (*f->file)
		put_text(c, ",\"cat\":", f->file);
	if (s->event) {
		out_str(c->out, ",\"args\":{\"arguments\":");
		if (!arguments_json(c->out, c->walk.info, s->event))
			out_str(c->out, "null");
		out_char(c->out, '}');
	}
	out_char(c->out, '}');
}

/* E closes the slice opened last on its thread, so it has no name. What happened at its end
 * becomes its arguments, which viewers add to those of B. */
static void put_end(struct chrome *c, const struct walk_step *s)
{
	const char *end = export_end_word(s->flags);
	char *returned = walk_returned(&c->walk, s);

	put_head(c, "E", s->lane);
	put_time(c, s->ns);
	if (end)
		put_text(c, ",\"args\":{\"ended\":", end);
	if (returned) {
		out_str(c->out, end ? ",\"returned\":" : ",\"args\":{\"returned\":");
		walk_returned_json(&c->walk, s, c->out);
	}
	out_str(c->out, end || returned ? "}}" : "}");
	free(returned);
}

/* i is an instant; its scope t puts it on its thread. */
static void put_event(struct chrome *c, const struct walk_step *s)
{
	const struct trace_event *e = trace_info_event(c->walk.info, s->event->fn);

	put_head(c, "i", s->lane);
	put_time(c, s->ns);
	put_text(c, ",\"s\":\"t\",\"name\":", e ? e->name : "[unknown]");
	if (e)
		put_text(c, ",\"cat\":", e->system);
	put_text(c, ",\"args\":{\"text\":", event_text(c->texts, s->event, 0));
	out_str(c->out, "}}");
}

/* Lost records as an instant where they are missing. */
static void put_loss(struct chrome *c, const struct walk_step *s)
{
	put_head(c, "i", s->lane);
	put_time(c, s->ns);
	out_str(c->out, ",\"s\":\"t\",\"name\":\"lost records\",\"cat\":\"brace\",\"args\":{\"count\":");
	out_u64(c->out, s->lost, 1, ' ');
	out_str(c->out, "}}");
}

/* The walk's step, by its kind. */
static int take_step(void *arg, const struct walk_step *s)
{
	static void (*const put[WALK_KINDS_N])(struct chrome *, const struct walk_step *) = {
		[WALK_BEGIN] = put_begin, [WALK_END] = put_end, [WALK_EVENT] = put_event,
		[WALK_LOST] = put_loss,
	};

	put[s->kind](arg, s);
	return 0;
}

/* Names of threads stand at the end, when all lanes are known. Viewers take metadata (M) wherever
 * it stands. Each lane names its process again, which does no harm. */
static void put_names(struct chrome *c)
{
	const struct trace_info *info = c->walk.info;

	for (uint32_t i = 0; i < c->walk.lanes.n; i++) {
		const struct trace_thread *t = &info->threads.at[c->walk.lanes.at[i].thread];
		char *name = walk_lane_name(&c->walk, i);

		put_head(c, "M", i);
		put_text(c, ",\"name\":\"thread_name\",\"args\":{\"name\":", name);
		out_str(c->out, "}}");
		free(name);
		if (!walk_is_kernel(&c->walk, i) &&
		    (t->image >= info->images.n || !info->images.at[t->image].cmdline))
			continue;
		put_head(c, "M", i);
		put_text(c, ",\"name\":\"process_name\",\"args\":{\"name\":",
			 walk_is_kernel(&c->walk, i) ? TRACE_KERNEL_EXE
						     : info->images.at[t->image].cmdline);
		out_str(c->out, "}}");
	}
}

/* The exporter's `write`. Calls are cut at a loss, because pairs have to nest. */
static int write_chrome(struct export_job *job, struct err *err)
{
	struct chrome c = { .out = job->out };
	int r;

	walk_init(&c.walk, job->source);
	c.walk.cuts = true;
	c.texts = event_texts_new(job->source->info);
	out_str(c.out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	r = export_walk(job, &c.walk, take_step, &c, err);
	put_names(&c);
	put_text(&c, "\n],\"otherData\":{\"creator\":\"brace\",\"clock\":\"CLOCK_MONOTONIC\",\"command\":",
		 job->source->info->cmdline);
	out_str(c.out, "}}\n");
	event_texts_free(c.texts);
	walk_free(&c.walk);
	return r;
}

const struct exporter export_chrome = {
	.name = "chrome", .summary = "Chrome's JSON trace events, for chrome://tracing and Perfetto",
	.holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_ARGUMENTS | HOLDS_VALUES | HOLDS_ENDS |
		 HOLDS_KERNEL,
	.write = write_chrome,
};
