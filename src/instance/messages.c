/* SPDX-License-Identifier: MIT */
/* The text of a record's message. Names of threads and strings in records are the program's: in
 * lines and variables unprintable bytes are escaped, as on a terminal, in JSON they are as JSON has
 * them. triggers.c calls it, on the thread that runs triggers, with pump_lock; messenger.c's queue
 * gets the message. A message that finds no room there is counted as dropped. */
#include "instance/messages.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "instance/buffer.h"
#include "instance/messenger.h"
#include "query/event_values.h"
#include "shared/record.h"

#define LINE_MOST 4096u       /* what a pipe takes at once */

/* The parts that all forms have of a record. */
struct message_head {
	const struct trace_thread *thread;
	char comm[TRACE_COMM + 1];
	uint64_t ns;              /* of the clock `global` */
};

static struct message_head head_of(const struct message_source *s)
{
	struct message_head h = { .thread = &s->info->threads.at[s->event->thread] };
	struct trace_clock clock = s->info->clock;

	/* Readers of the buffer may have chosen another clock. */
	buffer_set_clock(&clock, TRACE_CLOCK_GLOBAL);
	h.ns = trace_clock_shown(&clock, s->tsc);
	strncpy(h.comm, trace_thread_name_at(h.thread, s->event->tsc), TRACE_COMM);
	return h;
}

/* The record as trace_pipe shows it, without the columns' blanks. Escaped as one line: a newline in
 * a program's text would begin a second message. */
static char *line_of(const struct message_source *s, struct event_texts *texts)
{
	struct message_head h = head_of(s);
	char *text = mem_printf("%s-%u [%03u] %" PRIu64 ".%06" PRIu64 ": %s", h.comm, h.thread->tid,
				s->event->cpu, h.ns / 1000000000, h.ns / 1000 % 1000000,
				event_text(texts, s->event, 0));
	char *line = escape_line(text);

	free(text);
	return line;
}

/* A sink that cannot fail: it writes into memory. */
static int append(void *arg, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, arg);
	return 0;
}

/* null: the field has no value in this record. */
static void put_value(struct out *out, const struct event_value *v, const struct event_field *f)
{
	char *text;

	if (v->kind == EVENT_VALUE_NUMBER) {
		out_printf(out, f->is_signed ? "%" PRId64 : "%" PRIu64, v->number);
	} else if (v->kind == EVENT_VALUE_TEXT) {
		text = mem_strndup(v->text, v->text_bytes);
		json_string(out, text);
		free(text);
	} else {
		out_str(out, "null");
	}
}

/* One line of JSON: whoever reads from a pipe or a socket can take lines. */
static void put_object(struct out *out, const struct message_source *s)
{
	const struct event_format *format = s->entry->format;
	struct message_head h = head_of(s);

	out_str(out, "{\"event\":");
	json_string(out, format->name);
	out_str(out, ",\"system\":");
	json_string(out, format->system);
	out_printf(out, ",\"time\":%" PRIu64 ".%09" PRIu64 ",\"tid\":%u,\"cpu\":%u,\"comm\":",
		   h.ns / 1000000000, h.ns % 1000000000, h.thread->tid, s->event->cpu);
	json_string(out, h.comm);
	out_str(out, ",\"fields\":{");
	for (size_t i = 0; i < format->n; i++) {
		struct event_value v = event_value_in(s->event->payload, s->event->count,
						      &format->fields[i]);

		out_str(out, i ? "," : "");
		json_string(out, format->fields[i].name);
		out_char(out, ':');
		put_value(out, &v, &format->fields[i]);
	}
	out_str(out, "}}\n");
}

/* The messenger takes the text over. */
static void send_object(struct outside *o, const struct message_source *s)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	struct out out;

	out_init_raw(&out, append, to);
	put_object(&out, s);
	out_flush(&out);
	out_free(&out);
	mem_stream_close(to, &text);
	messenger_send(o, text, n);
}

/* Cut to what a pipe takes at once, so that lines of several senders do not mix. (PIPE_BUF of
 * pipe(7): a write of as many bytes is one step.) */
static void send_line(struct outside *o, const struct message_source *s, struct event_texts *texts)
{
	char *line = line_of(s, texts), *whole;
	int n = (int)strnlen(line, LINE_MOST - 1);

	whole = mem_printf("%.*s\n", n, line);
	free(line);
	messenger_send(o, whole, (size_t)n + 1);
}

/* --- a command's variables -------------------------------------------------------------------- */

struct variables { VEC(char *) at; };

/* Takes over the value. */
static void add_variable(struct variables *v, const char *name, char *value)
{
	*vec_add(&v->at) = mem_printf("BRACE_%s=%s", name, value);
	free(value);
}

/* A field's name holds letters, digits and `_`, whatever a format says; others have no variable. A
 * `=` in it would move the border between name and value. */
static bool is_name(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static void add_field(struct variables *v, const struct message_source *s,
		      const struct event_field *f)
{
	struct event_value value = event_value_in(s->event->payload, s->event->count, f);
	char *name, *text;

	if (!is_name(f->name) || value.kind == EVENT_VALUE_NONE)
		return;
	name = mem_printf("FIELD_%s", f->name);
	if (value.kind == EVENT_VALUE_NUMBER) {
		add_variable(v, name, mem_printf(f->is_signed ? "%" PRId64 : "%" PRIu64,
						 value.number));
	} else {
		text = mem_strndup(value.text, value.text_bytes);
		add_variable(v, name, escape_line(text));
		free(text);
	}
	free(name);
}

static void execute(struct outside *o, const struct message_source *s, struct event_texts *texts)
{
	const struct event_format *format = s->entry->format;
	struct message_head h = head_of(s);
	struct variables v = { 0 };

	add_variable(&v, "EVENT", mem_printf("%s:%s", format->system, format->name));
	add_variable(&v, "TIME", mem_printf("%" PRIu64 ".%09" PRIu64, h.ns / 1000000000,
					    h.ns % 1000000000));
	add_variable(&v, "TID", mem_printf("%u", h.thread->tid));
	add_variable(&v, "COMM", escape_line(h.comm));
	add_variable(&v, "CPU", mem_printf("%u", s->event->cpu));
	add_variable(&v, "LINE", line_of(s, texts));
	/* Relaxed: a number for the command, and nothing is read by it. */
	add_variable(&v, "DROPPED",
		     mem_printf("%" PRIu64,
				atomic_load_explicit(&o->dropped, memory_order_relaxed)));
	for (size_t i = 0; i < format->n; i++)
		add_field(&v, s, &format->fields[i]);
	*vec_add(&v.at) = NULL;
	messenger_execute(o, v.at.at);
}

void messages_make(struct outside *o, const struct message_source *s, struct event_texts *texts)
{
	/* The program overwrote the record. */
	if (s->event->count > 8 * RECORD_PAYLOAD_MAX) {
		atomic_fetch_add_explicit(&o->dropped, 1, memory_order_relaxed);
		return;
	}
	if (o->allowed && o->allowed->argv) {
		if (messenger_may_execute(o))
			execute(o, s, texts);
	} else if (o->json) {
		send_object(o, s);
	} else {
		send_line(o, s, texts);
	}
}
