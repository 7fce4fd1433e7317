/* SPDX-License-Identifier: MIT */
/* Prints probes' records; event_text.c calls, on its thread. The kernel prints them by its own
 * types rather than by the print format, and libtraceevent cannot print arrays of strings. Formats
 * and records come from files and programs: a conversion is looked up in a table, every value is
 * read within the record, and a format that is no probe's is told. */
#include "report/probe_text.h"

#include <string.h>

struct probe_print {
	const struct event_format *format;
	const uint8_t *record;
	uint32_t size;
	size_t field, element;    /* of the next value */
	probe_symbol symbol;
	void *context;
	struct trace_seq *to;
};

static bool is_named(const struct event_format *f, size_t i, const char *name)
{
	return i < f->n && f->fields[i].size == 8 && strcmp(f->fields[i].name, name) == 0;
}

/* Probes are told by their first fields, since any event may be in any group. A return's record
 * begins with the function and with the address that it returned to. */
static bool is_return(const struct event_format *f)
{
	return is_named(f, 0, "__probe_func") && is_named(f, 1, "__probe_ret_ip");
}

bool probe_text_is(const struct event_format *f)
{
	return is_named(f, 0, "__probe_ip") || is_return(f);
}

bool probe_text_has_place(const struct event_format *f, const uint8_t *record, uint32_t size)
{
	uint64_t ip = 0;

	if (probe_text_is(f) && f->fields[0].offset + sizeof(ip) <= size)
		memcpy(&ip, record + f->fields[0].offset, sizeof(ip));
	return ip;
}

/* Bytes of an element of the field; 0: no probe has such a field. */
static unsigned element_bytes(const struct event_field *f)
{
	static const struct { const char *type; unsigned bytes; } sizes[] = {
		{ "u8", 1 }, { "s8", 1 }, { "u16", 2 }, { "s16", 2 }, { "u32", 4 }, { "s32", 4 },
		{ "u64", 8 }, { "s64", 8 }, { "__data_loc char", 4 },
	};
	size_t n = strcspn(f->type, "[");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (strlen(sizes[i].type) == n && memcmp(sizes[i].type, f->type, n) == 0)
			return sizes[i].bytes;
	return 0;
}

/* Takes the next value; false: there is none. Signed ones are extended. */
static bool next_value(struct probe_print *p, uint64_t *value)
{
	const struct event_field *f;
	unsigned bytes;

	if (p->field == p->format->n)
		return false;
	f = &p->format->fields[p->field];
	bytes = element_bytes(f);
	if (!bytes || (p->element + 1) * bytes > f->size ||
	    f->offset + (p->element + 1) * bytes > p->size)
		return false;
	*value = 0;
	memcpy(value, p->record + f->offset + p->element * bytes, bytes);
	if (f->is_signed)
		*value = (uint64_t)((int64_t)(*value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	if ((++p->element + 1) * bytes > f->size) {
		p->field++;
		p->element = 0;
	}
	return true;
}

/* Prints an address as the kernel's %pS does, without the function's size. */
static void print_symbol(struct probe_print *p, uint64_t address)
{
	unsigned long long begin = address;
	char *module, *name = p->symbol(p->context, &begin, &module);

	if (name && begin != address)
		trace_seq_printf(p->to, "%s+0x%llx", name, (unsigned long long)address - begin);
	else if (name)
		trace_seq_printf(p->to, "%s", name);
	else
		trace_seq_printf(p->to, "0x%llx", (unsigned long long)address);
}

static void print_quoted_symbol(struct probe_print *p, uint64_t address)
{
	trace_seq_putc(p->to, '"');
	print_symbol(p, address);
	trace_seq_putc(p->to, '"');
}

/* data_loc: length << 16 | offset in the record. */
static void print_string(struct probe_print *p, uint64_t data_loc)
{
	uint32_t at = data_loc & 0xffff, n = data_loc >> 16 & 0xffff;

	if (!n || at > p->size || n > p->size - at)
		trace_seq_printf(p->to, "(fault)");
	else
		trace_seq_printf(p->to, "\"%.*s\"", (int)n, (const char *)p->record + at);
}

/* A NUL is left out: it would end the line for whoever reads it. */
static void print_letter(struct probe_print *p, uint64_t letter)
{
	if (letter & 0xff)
		trace_seq_putc(p->to, (unsigned char)letter);
}

static void print_unsigned(struct probe_print *p, uint64_t v)
{
	trace_seq_printf(p->to, "%llu", (unsigned long long)v);
}

static void print_signed(struct probe_print *p, uint64_t v)
{
	trace_seq_printf(p->to, "%lld", (long long)v);
}

static void print_hexadecimal(struct probe_print *p, uint64_t v)
{
	trace_seq_printf(p->to, "%llx", (unsigned long long)v);
}

/* The conversions of fetch_types.c; a format with any other is not a probe's, and printed by
 * libtraceevent. */
static const struct conversion {
	const char *text;
	void (*print)(struct probe_print *p, uint64_t value);
} conversions[] = {
	{ "\\\"%s\\\"", print_string },   { "%u", print_unsigned }, { "%Lu", print_unsigned },
	{ "%d", print_signed },           { "%Ld", print_signed },  { "%x", print_hexadecimal },
	{ "%Lx", print_hexadecimal },     { "%c", print_letter },   { "%pS", print_symbol },
	{ "\\\"%pS\\\"", print_quoted_symbol },
};

/* Returns the row of the conversion at `text`. No row's text begins with another row's, so that the
 * order of rows does not matter. */
static const struct conversion *conversion_at(const char *text)
{
	for (size_t i = 0; i < sizeof(conversions) / sizeof(*conversions); i++)
		if (!strncmp(text, conversions[i].text, strlen(conversions[i].text)))
			return &conversions[i];
	return NULL;
}

/* Prints a place of a probe that was defined by a symbol: name+0x4, and of a function that returned
 * the name alone. */
static void print_function(struct probe_print *p, uint64_t address, bool alone)
{
	unsigned long long begin = address;
	char *module, *name = p->symbol(p->context, &begin, &module);

	if (name && alone)
		trace_seq_printf(p->to, "%s", name);
	else if (name)
		trace_seq_printf(p->to, "%s+0x%llx", name, (unsigned long long)address - begin);
	else
		trace_seq_printf(p->to, "0x%llx", (unsigned long long)address);
}

static void print_address(struct probe_print *p, uint64_t address, bool alone)
{
	trace_seq_printf(p->to, "0x%llx", (unsigned long long)address);
}

/* Begins of print formats, as fetch.c writes them. */
static const struct place_form {
	const char *text;
	void (*print)(struct probe_print *p, uint64_t address, bool alone);
	bool returns;
} place_forms[] = {
	{ "\"(%lx)", print_address, false },        { "\"(%lx <- %lx)", print_address, true },
	{ "\"(%pS)", print_function, false },       { "\"(%ps <- %pS)", print_function, true },
};

/* The form with which the print format begins; NULL: it has no place. */
static const struct place_form *form_of(const struct event_format *f)
{
	const struct place_form *form = place_forms;
	const struct place_form *end = form + sizeof(place_forms) / sizeof(*place_forms);

	while (form < end && (form->returns != is_return(f) ||
			      strncmp(f->print, form->text, strlen(form->text)) != 0))
		form++;
	return form < end ? form : NULL;
}

/* Returns what follows the quote, and the place, if there is one. */
static const char *skip_place(struct probe_print *p)
{
	const struct place_form *form = probe_text_is(p->format) ? form_of(p->format) : NULL;

	if (form) {
		p->field = form->returns ? 2 : 1;
		return p->format->print + strlen(form->text);
	}
	return *p->format->print == '"' ? p->format->print + 1 : NULL;
}

/* Prints (PLACE) or (CALLER <- FUNCTION); returns what follows it in the print format, NULL: it is
 * another. */
static const char *print_place(struct probe_print *p)
{
	const struct place_form *form = form_of(p->format);
	bool returns = form && form->returns;
	uint64_t first, second = 0;

	if (!form)
		return NULL;
	memcpy(&first, p->record + p->format->fields[0].offset, 8);
	if (returns)
		memcpy(&second, p->record + p->format->fields[1].offset, 8);
	trace_seq_putc(p->to, '(');
	form->print(p, returns ? second : first, false);
	if (returns) {
		trace_seq_puts(p->to, " <- ");
		form->print(p, first, true);
	}
	trace_seq_putc(p->to, ')');
	p->field = returns ? 2 : 1;
	return p->format->print + strlen(form->text);
}

bool probe_text(const struct event_format *f, bool no_place, const uint8_t *record, uint32_t size,
		probe_symbol symbol, void *context, struct trace_seq *to)
{
	struct probe_print p = { .format = f, .record = record, .size = size,
				 .symbol = symbol, .context = context, .to = to };
	const char *text = no_place ? skip_place(&p) : print_place(&p);
	uint64_t value;

	/* To the quote that ends the format: arguments after it are the fields in their order. */
	while (text && *text && *text != '"') {
		const struct conversion *c = conversion_at(text);

		if (!c && (*text == '%' || *text == '\\'))
			return false;
		if (c && !next_value(&p, &value))
			return false;
		if (c)
			c->print(&p, value);
		else
			trace_seq_putc(to, (unsigned char)*text);
		text += c ? strlen(c->text) : 1;
	}
	return text && *text;
}
