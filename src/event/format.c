/* SPDX-License-Identifier: MIT */
/* Formats of events: the text of `format` files, and fields by name. Filters, triggers and reports
 * ask; formats do not change, so any thread may. Nothing fails but a look-up. */
#include "event/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"

/* The kernel's struct trace_entry, with which every record begins. */
const struct event_field event_common_fields[EVENT_COMMON_FIELDS] = {
	{ "unsigned short", "common_type", 0, 2, false },
	{ "unsigned char", "common_flags", 2, 1, false },
	{ "unsigned char", "common_preempt_count", 3, 1, false },
	{ "int", "common_pid", 4, 4, true },
};

/* Names that filters know in every event. An event's own field of the same name has precedence. */
static const struct {
	struct event_field field;
	enum event_field_kind kind;
} generic[] = {
	{ { "int", "CPU", 0, 0, true }, EVENT_CPU },
	{ { "int", "cpu", 0, 0, true }, EVENT_CPU },
	{ { "int", "common_cpu", 0, 0, true }, EVENT_CPU },
	{ { "char *", "COMM", 0, 0, false }, EVENT_COMM },
	{ { "char *", "comm", 0, 0, false }, EVENT_COMM },
	{ { "char *", "common_comm", 0, 0, false }, EVENT_COMM },
	{ { "char *", "STACKTRACE", 0, 0, false }, EVENT_STACK },
	{ { "char *", "stacktrace", 0, 0, false }, EVENT_STACK },
	{ { "char *", "common_stacktrace", 0, 0, false }, EVENT_STACK },
};

/* By the type's text, as the kernel decides (filter_assign_type): __data_loc and __rel_loc point at
 * bytes further down in the record; an array of char is in it; a `char *` points into memory. */
enum event_field_kind event_field_kind(const struct event_field *f)
{
	bool chars = strstr(f->type, "char"), mask = strstr(f->type, "cpumask_t");

	if (strstr(f->type, "__data_loc"))
		return chars ? EVENT_DYNAMIC : mask ? EVENT_CPUMASK : EVENT_NUMBER;
	if (strstr(f->type, "__rel_loc"))
		return chars ? EVENT_RELATIVE : EVENT_NUMBER;
	if (chars && strchr(f->type, '['))
		return EVENT_STRING;
	if (!strcmp(f->type, "char *") || !strcmp(f->type, "const char *"))
		return EVENT_POINTER;
	return EVENT_NUMBER;
}

/* The name is a part of a filter's text, without a NUL of its own. */
static bool is_named(const struct event_field *f, const char *name, size_t n)
{
	return !strncmp(f->name, name, n) && !f->name[n];
}

/* NULL: none of them has the name. */
static const struct event_field *find_field(const struct event_field *fields, size_t n_fields,
					    const char *name, size_t n)
{
	for (size_t i = 0; i < n_fields; i++)
		if (is_named(&fields[i], name, n))
			return &fields[i];
	return NULL;
}

const struct event_field *event_find_field(const struct event_format *e, const char *name, size_t n,
					   enum event_field_kind *kind)
{
	/* The order of precedence: own fields, the generic names, the common fields. */
	const struct event_field *f = find_field(e->fields, e->n, name, n);

	for (size_t i = 0; !f && i < sizeof(generic) / sizeof(generic[0]); i++) {
		if (is_named(&generic[i].field, name, n)) {
			*kind = generic[i].kind;
			return &generic[i].field;
		}
	}
	if (!f)
		f = find_field(event_common_fields, EVENT_COMMON_FIELDS, name, n);
	if (f)
		*kind = event_field_kind(f);
	return f;
}

const char *event_nearest_field(const struct event_format *e, const char *name, size_t n)
{
	char *word = mem_strndup(name, n);
	struct nearest near = { word, NULL, 0 };

	for (size_t i = 0; i < e->n; i++)
		nearest_offer(&near, e->fields[i].name);
	free(word);
	return near.best;
}

/* The fixed part: dynamic bytes follow behind it. */
uint32_t event_record_bytes(const struct event_format *e)
{
	uint32_t end = EVENT_COMMON_BYTES;

	for (size_t i = 0; i < e->n; i++)
		if (e->fields[i].offset + e->fields[i].size > end)
			end = e->fields[i].offset + e->fields[i].size;
	return end;
}

/* A dimension is written after the name, as in C, except that of dynamic arrays. */
static void print_field(FILE *to, const struct event_field *f)
{
	const char *dimension = strncmp(f->type, "__data_loc", 10) ? strchr(f->type, '[') : NULL;
	int n = dimension ? (int)(dimension - f->type) : (int)strlen(f->type);

	fprintf(to, "\tfield:%.*s %s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", n, f->type, f->name,
		dimension ? dimension : "", f->offset, f->size, f->is_signed);
}

/* The text of a `format` file, to be freed. libtraceevent parses it: blanks and semicolons are the
 * kernel's. */
char *event_format_read(const struct event_format *e)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	fprintf(to, "name: %s\nID: %u\nformat:\n", e->name, e->id);
	for (size_t i = 0; i < EVENT_COMMON_FIELDS; i++)
		print_field(to, &event_common_fields[i]);
	fputc('\n', to);
	for (size_t i = 0; i < e->n; i++)
		print_field(to, &e->fields[i]);
	fprintf(to, "\nprint fmt: %s\n", e->print);
	mem_stream_close(to, &text);
	return text;
}
