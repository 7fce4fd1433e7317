/* SPDX-License-Identifier: MIT */
/* Takes apart the lines that define events on other events' fields, and compiles them.
 * tree/dynamic_files.c calls it, on the thread that writes. The lines come from anybody who may
 * write dynamic_events; nothing is kept here. The order in which parts are looked at, sentences and
 * columns are the kernel's (__trace_eprobe_create). A fault is -errno and such a sentence. */
#include "event/eprobe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/probe_line.h"

const struct event_provider eprobe_provider = { .name = "event probe", .can_enable = true };

/* --- fields ------------------------------------------------------------------------------- */

/* Compiles the address of a string that the record has, and says how long it can be. A __data_loc
 * counts from the record's begin, a __rel_loc from behind its own four bytes. */
static void emit_string(struct fetch_build *b, const struct event_field *f,
			enum event_field_kind kind)
{
	uint64_t offset = EPROBE_RECORD + f->offset;
	uint64_t from = kind == EVENT_RELATIVE ? offset + 4 : EPROBE_RECORD;

	b->field_is_string = true;
	b->field_bytes = kind == EVENT_STRING ? f->size : 0;
	if (kind == EVENT_STRING) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = f->size });
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_KEEP });
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = (int64_t)offset });
		return;
	}
	/* The lower half of the field is where the string begins. */
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = (int64_t)offset });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 2 });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_KEEP, .value = (int64_t)from });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_RECALL });
}

/* Compiles the field's number. Of an array it is the first word, as in the kernel. */
static void emit_number(struct fetch_build *b, const struct event_field *f)
{
	uint8_t size = f->size == 1 || f->size == 2 || f->size == 4 ? (uint8_t)f->size : 8;

	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM,
					   .value = (int64_t)(EPROBE_RECORD + f->offset) });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = size,
					   .flags = f->is_signed ? FETCH_SIGNED : 0 });
}

void eprobe_emit_field(struct fetch_build *b, const struct event_field *f)
{
	enum event_field_kind kind = event_field_kind(f);

	if (kind == EVENT_STRING || kind == EVENT_DYNAMIC || kind == EVENT_RELATIVE)
		emit_string(b, f, kind);
	else
		emit_number(b, f);
}

/* fetch_build.field: the common fields are no fields for it, as in the kernel. */
static bool find_field(struct fetch_build *b, const char *name, size_t n)
{
	const struct event_format *e = b->field_arg;

	for (size_t i = 0; i < e->n; i++) {
		const struct event_field *f = &e->fields[i];

		if (strlen(f->name) != n || memcmp(f->name, name, n) != 0)
			continue;
		eprobe_emit_field(b, f);
		return true;
	}
	return false;
}

/* --- parts of the line ---------------------------------------------------------------------- */

/* Finds the event that the second word names. Others than events that can be enabled have no
 * records of their own, and of events on events there are none further. */
static int find_base(const struct line_words *w, struct event_catalogue *c, struct eprobe *e)
{
	char *system = NULL, *event = NULL;
	int r = probe_line_name(w, w->at[1], &system, &event);

	if (r == 0 && (!system || !event))
		r = probe_line_fault(w, w->at[1],
				     "This requires both group and event name to attach");
	if (r == 0) {
		e->base = events_find(c, system, event);
		if (!e->base || !events_can_enable(e->base) || e->base->eprobe)
			r = err_at(w->err, ENODEV, w->line, (size_t)(w->at[1] - w->copy),
				   "Attached event does not exist");
	}
	free(system);
	free(event);
	return r;
}

/* Number of the word `if`; w->n: there is none. The first one counts, as in
 * __trace_eprobe_create(). */
static size_t find_if(const struct line_words *w)
{
	size_t i = 2;

	while (i < w->n && strcmp(w->at[i], "if") != 0)
		i++;
	return i;
}

/* Joins the words behind `if` with blanks, as the kernel does; free() it. */
static char *join_words(const struct line_words *w, size_t from)
{
	char *text = mem_strdup("");

	for (size_t i = from; i < w->n; i++) {
		char *more = mem_printf("%s%s%s", text, i == from ? "" : " ", w->at[i]);

		free(text);
		text = more;
	}
	return text;
}

/* Compiles the filter, whose words begin at number `from`. */
static int parse_filter(const struct line_words *w, size_t from, struct event_catalogue *c,
			struct eprobe_command *out)
{
	struct filter_context context = events_context(c);
	struct filter_fault fault;
	int r;

	if (from == w->n) {
		/* Where it would stand. */
		out->column = (size_t)(w->at[w->n - 1] - w->copy) + sizeof("if");
		return err_at(w->err, EINVAL, w->line, out->column, "No filter rule after 'if'");
	}
	out->filter = join_words(w, from);
	r = filter_compile(out->eprobe->base->format, out->filter, strlen(out->filter), &context,
			   &out->eprobe->filter, &fault);
	if (r < 0) {
		out->column = fault.position;
		return err_at(w->err, EINVAL, out->filter, fault.position, "%s",
			      filter_fault_sentence(&fault));
	}
	free(out->filter);
	out->filter = NULL;
	return 0;
}

/* Takes over the program and the listed arguments that c has; out->event is the event's name. */
static void take_program(struct eprobe_command *out, struct probe_command *c,
			 struct fetch_build *b)
{
	struct eprobe *e = out->eprobe;

	out->format = fetch_format(b, out->event);
	e->program = c->definition->program;
	e->program_bytes = c->definition->program_bytes;
	e->arguments = c->definition->arguments;
	c->definition->program = NULL;
	c->definition->arguments = NULL;
}

/* The program and its text have moved to *out before the rest is freed. */
int eprobe_arguments(const struct line_words *w, struct eprobe_command *out, struct fetch_build *b)
{
	struct probe_command c = { .definition = mem_zalloc(sizeof(*c.definition)) };
	int r = probe_line_arguments(w, &c, b);

	if (r == 0)
		take_program(out, &c, b);
	fetch_free(b);
	probe_command_free(&c);
	return r;
}

static int parse_arguments(const struct line_words *w, struct eprobe_command *out)
{
	struct fetch_build b;

	fetch_begin_event(&b, find_field, (void *)out->eprobe->base->format);
	return eprobe_arguments(w, out, &b);
}

/* The order in which faults are told is the kernel's: the name, the event, the filter, the
 * arguments. w->n ends before `if` when the arguments are read: probe_line_arguments() takes all
 * words. */
static int parse_words(struct line_words *w, struct event_catalogue *c, struct eprobe_command *out)
{
	const char *name = strchr(w->at[0], ':');
	size_t end = find_if(w);
	int r = name ? probe_line_name(w, name + 1, &out->group, &out->event) : 0;

	if (r == 0)
		r = find_base(w, c, out->eprobe);
	if (r == 0 && end < w->n)
		r = parse_filter(w, end + 1, c, out);
	if (r < 0)
		return r;
	if (!out->group)
		out->group = mem_strdup(EPROBE_SYSTEM);
	if (!out->event)
		out->event = mem_strdup(out->eprobe->base->format->name);
	w->n = end;
	return parse_arguments(w, out);
}

/* --- commands ------------------------------------------------------------------------------- */

bool eprobe_command_is(const char *line)
{
	return *line == 'e';
}

int eprobe_line_cut(const char *line, const char *missing, struct line_words *w,
		    struct eprobe_command *out)
{
	int r;

	*out = (struct eprobe_command){ .eprobe = mem_zalloc(sizeof(*out->eprobe)) };
	r = probe_line_cut(line, w);
	return r == 0 && w->n < 2 ? err_at(w->err, EINVAL, line, 0, "%s", missing) : r;
}

/* A column that is set already is the kernel's own, which may differ from the error's, and
 * stays. */
int eprobe_line_end(struct line_words *w, struct eprobe_command *out, int r)
{
	if (r < 0 && !out->column)
		out->column = w->err->column;
	free(w->copy);
	return r;
}

int eprobe_command_parse(const char *line, struct event_catalogue *c, struct eprobe_command *out,
			 struct err *err)
{
	struct line_words w = { .err = err };
	int r = eprobe_line_cut(
		line, "the event that it is made of is missing: e:NAME SYSTEM/EVENT", &w, out);

	return eprobe_line_end(&w, out, r == 0 ? parse_words(&w, c, out) : r);
}

void eprobe_command_free(struct eprobe_command *c)
{
	free(c->group);
	free(c->event);
	free(c->format);
	free(c->filter);
	eprobe_free(c->eprobe);
	*c = (struct eprobe_command){ 0 };
}

void eprobe_free(struct eprobe *e)
{
	if (!e)
		return;
	free(e->tracepoint);
	free(e->arguments);
	free(e->filter);
	free(e->program);
	free(e);
}

/* The kernel lists a tracepoint (t:) as it was written, and another event (e:) with a dot between
 * system and name, even if it was written with a slash. */
char *eprobe_text(const struct eprobe *e)
{
	const struct event_format *f = e->base->format;

	if (e->tracepoint)
		return mem_printf(" %s%s", e->tracepoint, e->arguments);
	return mem_printf(" %s.%s%s", f->system, f->name, e->arguments);
}
