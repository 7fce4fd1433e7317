/* SPDX-License-Identifier: MIT */
/* A histogram as JSON, for programs: an object a line. On the thread of a reader, which holds the
 * lock of whoever looks at records, as print.c. Ranges have both ends, addresses their function,
 * and stacks are lists. Nothing fails: `out` keeps a write error for its owner. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "event/syscalls.h"
#include "hist/internal.h"

#define NAME_BYTES 512u

/* One printing of one histogram. */
struct json_printing {
	const struct hist_command *c;
	const struct hist_symbols *symbols;
	struct out *out;
};

static void print_function(const struct json_printing *p, uint64_t address, unsigned ahead)
{
	char name[NAME_BYTES];

	hist_name_address(p->symbols, address, ahead, true, name, sizeof(name));
	json_string(p->out, name);
}

/* Quotes bytes that a NUL may not follow. */
static void print_bytes(const struct json_printing *p, const void *bytes, size_t n)
{
	char *text = mem_strndup(bytes, n);

	json_string(p->out, text);
	free(text);
}

/* The first address is where the thread stood, the others are return addresses. */
static void print_frames(const struct json_printing *p, const uint64_t *at)
{
	out_char(p->out, '[');
	for (uint64_t i = 0; i < *at; i++) {
		if (i)
			out_char(p->out, ',');
		print_function(p, at[1 + i], i > 0);
	}
	out_char(p->out, ']');
}

/* A number that has no name stays a number, so that readers can tell. */
static void print_call(const struct json_printing *p, uint64_t number)
{
	const struct syscall_info *s = number <= UINT32_MAX ? syscall_by_number((uint32_t)number)
							    : NULL;

	if (s)
		json_string(p->out, s->name);
	else
		out_printf(p->out, "%" PRIu64, number);
}

/* Both numbers belong to the range. */
static void print_range(const struct json_printing *p, const struct hist_field *f, uint64_t value)
{
	uint64_t from, to;

	hist_modifier_row(f->modifier)->range(f, value, &from, &to);
	out_printf(p->out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}", from, to);
}

static void print_word(const struct json_printing *p, const struct hist_field *f,
		       const struct hist_entry *e, uint64_t value)
{
	char *name;

	switch (f->modifier) {
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		print_function(p, value, 0);
		break;
	case HIST_EXECNAME:
		name = mem_printf("%s-%" PRIu64, e->comm, value);
		json_string(p->out, name);
		free(name);
		break;
	case HIST_SYSCALL:
		print_call(p, value);
		break;
	default:
		if (hist_modifier_row(f->modifier)->range) {
			print_range(p, f, value);
			break;
		}
		out_printf(p->out, f->is_signed ? "%" PRId64 : "%" PRIu64, value);
	}
}

static void print_key(const struct json_printing *p, const struct hist_entry *e, size_t i)
{
	const struct hist_field *f = &p->c->keys[i];
	const uint64_t *at = hist_entry_key(e, p->c, i);

	json_string(p->out, f->name);
	out_char(p->out, ':');
	if (f->shape == HIST_IS_STRING)
		print_bytes(p, at + 1, (size_t)*at);
	else if (f->shape == HIST_IS_STACK)
		print_frames(p, at);
	else
		print_word(p, f, e, *at);
}

/* Modifiers only change how a sum is shown, so it has the field's name; several of MIN to P99 may
 * be of one field. */
static void print_value(const struct json_printing *p, const struct hist_field *f, uint64_t value)
{
	const struct hist_modifier_row *row = hist_modifier_row(f->modifier);
	char *name = mem_printf("%s%s%s", f->name, row->sketched ? "." : "",
				row->sketched ? row->name : "");

	json_string(p->out, name);
	free(name);
	out_printf(p->out, row->sketched && f->is_signed ? ":%" PRId64 : ":%" PRIu64, value);
}

/* The hit count stands there once, whether or not the line asks for it among its values. */
static void print_row(const struct json_printing *p, const struct hist_entry *e)
{
	out_char(p->out, '{');
	for (size_t i = 0; i < p->c->n_keys; i++) {
		print_key(p, e, i);
		out_char(p->out, ',');
	}
	out_printf(p->out, "\"hitcount\":%" PRIu64, e->hits);
	for (size_t i = 0; i < p->c->n_values; i++) {
		if (p->c->values[i].source == HIST_HITCOUNT)
			continue;
		out_char(p->out, ',');
		print_value(p, &p->c->values[i], e->sums[i]);
	}
	out_str(p->out, "}\n");
}

/* A line for the trigger, one for each row, one for the totals: each is a whole JSON value, which
 * line-wise tools can read. */
static void print_histogram(const struct event_trigger *trigger, const struct hist_symbols *symbols,
			    struct out *out)
{
	const struct hist *h = trigger->own;
	const struct hist_table *t = &h->shared->table;
	const struct json_printing p = { h->command, symbols, out };
	struct hist_entry **sorted = hist_table_sorted(t, h->command);
	char *line = trigger_line(trigger);

	line[strcspn(line, "\n")] = '\0';
	out_str(out, "{\"schema\":\"brace-hist\",\"version\":1,\"trigger\":");
	json_string(out, line);
	out_str(out, "}\n");
	for (size_t i = 0; i < t->entries.n; i++)
		print_row(&p, sorted[i]);
	out_printf(out,
		   "{\"hits\":%" PRIu64 ",\"entries\":%zu,\"dropped\":%" PRIu64
		   ",\"unmatched\":%" PRIu64 ",\"unsent\":%" PRIu64 "}\n",
		   t->hits, t->entries.n, t->dropped, t->unmatched, t->unsent);
	free(line);
	free(sorted);
}

/* hist_printer.print */
static void print_json(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
		       struct out *out)
{
	for (size_t i = l->at.n; i-- > 0;)
		if (hist_is(l->at.at[i]))
			print_histogram(l->at.at[i], symbols, out);
}

const struct hist_printer hist_json_printer = { print_json, NULL };
