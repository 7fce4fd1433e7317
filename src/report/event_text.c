/* SPDX-License-Identifier: MIT */
/* Turns records of events into text. libtraceevent trusts formats and records; brace cannot, since
 * both come from traced programs or from files. So a format is checked before it is parsed
 * (is_safe), a record before it is printed (is_whole), and the record lies in a buffer with zeroed
 * slack behind it, which takes every read that its 16-bit offsets can cause. The printers,
 * instance/, the exports and the library call it; each owns texts of its own, on its own thread. */
#include "report/event_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "arch/page.h"
#include "base/mem.h"
#include "base/vec.h"
#include "event/print_names.h"
#include "event/synthetic.h"
#include "event/user_event.h"
#include "model/option.h"
#include "report/probe_text.h"
#include "report/stack_text.h"
#include "shared/record.h"

#define RECORD_BYTES (EVENT_COMMON_BYTES + 8 * RECORD_PAYLOAD_MAX)
/* libtraceevent believes offsets and lengths in a record: 16 bits each, of elements of up to 8
 * bytes. Within the slack it reads zeros. */
#define SLACK (1u << 20)
/* Room for narrow fields that were widened, see widen_columns(). */
#define WIDE_BYTES 1024u
/* libtraceevent's parser is recursive: deep nesting would overflow the stack */
#define PARENTHESES_MAX 100
#define TEXT_MAX 4096

/* One event: its format, and how libtraceevent prints it. */
struct shown {
	bool known;
	const char *made_of;      /* "SYSTEM.EVENT", which the text names; or NULL */
	struct event_format *format; /* NULL: the format cannot be parsed */
	/* the same fields, at the places where libtraceevent is to read them: see
	 * widen_columns() */
	struct event_field *wide;
	struct tep_handle *tep;      /* NULL: the event is not shown by its print format */
	struct tep_event *event;
};

struct event_texts {
	const struct trace_info *info;
	VEC(struct shown) events;    /* by index */
	/* the event being printed: addresses belong to its process and time */
	const struct event *printed;
	struct trace_seq seq;
	char function[512];
	uint8_t *record;             /* RECORD_BYTES + SLACK */
	char text[TEXT_MAX];
};

struct event_texts *event_texts_new(const struct trace_info *info)
{
	struct event_texts *t = mem_zalloc(sizeof(*t));

	t->info = info;
	t->record = mem_zalloc(RECORD_BYTES + SLACK);
	trace_seq_init(&t->seq);
	return t;
}

void event_texts_free(struct event_texts *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->events.n; i++) {
		event_format_free(t->events.at[i].format);
		free(t->events.at[i].wide);
		tep_free(t->events.at[i].tep);
	}
	vec_free(&t->events);
	trace_seq_destroy(&t->seq);
	free(t->record);
	free(t);
}

/* --- formats --------------------------------------------------------------------------- */

/* Copies the code outside of string constants; false: a constant has no end. */
static bool without_strings(const char *s, char *to)
{
	for (; *s; s++) {
		if (*s != '"') {
			*to++ = *s;
			continue;
		}
		for (s++; *s != '"'; s++) {
			s += *s == '\\';
			if (!*s)
				return false;
		}
	}
	*to = '\0';
	return true;
}

/* Whether the number of elements that a function reads is bounded: a small constant, or the field's
 * own length. */
static bool count_is_safe(const char *arguments)
{
	const char *comma = strchr(arguments, ',');

	if (!comma)
		return false;
	comma += 1 + strspn(comma + 1, " ");
	return !strncmp(comma, "__get_dynamic_array_len(", 24) ||
	       (isdigit((unsigned char)*comma) && strtoul(comma, NULL, 0) <= RECORD_BYTES &&
		strspn(comma, "0123456789") == strcspn(comma, ",)"));
}

/* Checks all calls of libtraceevent's functions that read a number of elements. */
static bool counts_are_safe(const char *s)
{
	static const char *const readers[] = { "__print_array", "__print_hex" };

	for (size_t i = 0; i < 2; i++)
		for (const char *at = s; (at = strstr(at, readers[i])); at++) {
			const char *open = strchr(at, '(');

			if (!open || !count_is_safe(open))
				return false;
		}
	return true;
}

/* True for a character of a name in C. */
static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether an index is REC->field[3] within a field that has as many elements. */
static bool index_is_safe(const struct event_format *e, const char *code, const char *open)
{
	const char *name = open, *dimension;
	enum event_field_kind kind;
	const struct event_field *f;
	unsigned long index;
	char *end;

	while (name > code && is_word(name[-1]))
		name--;
	if (name - code < 5 || strncmp(name - 5, "REC->", 5) != 0 ||
	    !isdigit((unsigned char)open[1]))
		return false;
	f = event_find_field(e, name, (size_t)(open - name), &kind);
	dimension = f ? strchr(f->type, '[') : NULL;
	index = strtoul(open + 1, &end, 10);
	return dimension && *end == ']' && index < strtoul(dimension + 1, NULL, 10) &&
	       f->offset + f->size <= RECORD_BYTES;
}

/* All indices in the format's code; one that is not understood is not safe. */
static bool indices_are_safe(const struct event_format *e, const char *code)
{
	for (const char *at = code; (at = strchr(at, '[')); at++)
		if (!index_is_safe(e, code, at))
			return false;
	return true;
}

/* Blanks the casts that the kernel's own formats have before arguments of %p and %pS, which
 * is_safe() would refuse. A value that is only printed, and is not an argument of a function, leads
 * nowhere. */
static void blank_casts(char *code)
{
	static const char cast[] = "(void *)";
	const size_t n = sizeof(cast) - 1;
	unsigned depth = 0;

	for (char *at = code; *at; at++) {
		if (!depth && !strncmp(at, cast, n) && !strncmp(at + n, "REC->", 5))
			memset(at, ' ', n);
		depth += *at == '(';
		depth -= *at == ')' && depth;
	}
}

/* Whether libtraceevent can print records by this format without reading outside of them: no
 * pointers, no index but constants in range, bounded counts, bounded nesting. */
static bool is_safe(const struct event_format *e)
{
	char *code = mem_zalloc(strlen(e->print) + 1);
	unsigned depth = 0;
	bool safe = without_strings(e->print, code);

	blank_casts(code);
	safe = safe && !strchr(code, '*') && indices_are_safe(e, code) && counts_are_safe(code);
	for (const char *c = code; *c; c++)
		depth += *c == '(';
	free(code);
	return safe && depth <= PARENTHESES_MAX;
}

/* A callback of event_print_unknown(), which knows nothing of formats. */
static bool has_field(const void *format, const char *name, size_t n)
{
	enum event_field_kind kind;

	return event_find_field(format, name, n, &kind) != NULL;
}

/* Whether libtraceevent prints all of a record by this format. It leaves out what has a name that
 * no field has. */
static bool is_complete(const struct event_format *e)
{
	size_t n;

	return !event_print_unknown(e->print, has_field, e, &n);
}

/* Whether the field is a signed 8- or 16-bit number. libtraceevent 1.7 prints those as unsigned, so
 * that such fields are copied behind the record as ints. */
static bool is_narrow(const struct event_field *f)
{
	return f->is_signed && f->size < 4 && event_field_kind(f) == EVENT_NUMBER &&
	       (f->size == 1 || f->size == 2);
}

/* Returns the format's text with narrow fields moved and widened; free() it. */
static char *widen_columns(struct shown *s)
{
	struct event_format wide = *s->format;
	uint16_t at = RECORD_BYTES;

	s->wide = mem_zalloc((wide.n + 1) * sizeof(*s->wide));
	for (size_t i = 0; i < wide.n; i++) {
		s->wide[i] = s->format->fields[i];
		if (!is_narrow(&s->wide[i]) || at + 4u > RECORD_BYTES + WIDE_BYTES)
			continue;
		s->wide[i] = (struct event_field){ "int", s->wide[i].name, at, 4, true };
		at += 4;
	}
	wide.fields = s->wide;
	return event_format_read(&wide);
}

/* A format that libtraceevent cannot parse leaves s->event NULL. */
static void parse_print(struct shown *s)
{
	char *text = widen_columns(s);

	if (tep_parse_event(s->tep, text, strlen(text), s->format->system) == 0)
		s->event = tep_find_event_by_name(s->tep, s->format->system, s->format->name);
	free(text);
}

/* libtraceevent asks this for %pS and its like, with an address of the process whose record is
 * printed. */
static char *function_of(void *context, unsigned long long *address, char **module)
{
	struct event_texts *t = context;
	uint32_t image = t->info->threads.at[t->printed->thread].image;
	const struct trace_module *m;
	const struct trace_function *f =
		trace_info_function_at(t->info, image, *address, t->printed->tsc, &m);

	if (!f)
		return NULL;
	trace_function_name(m, f, t->function, sizeof(t->function));
	*address = m->base + f->vaddr;
	*module = NULL;
	return t->function;
}

/* Parses the event's format. Whatever fails leaves s->tep or s->event NULL: fields are shown
 * then. */
static void parse_event(struct event_texts *t, struct shown *s, const struct trace_event *e)
{
	struct err ignored;

	s->format = event_format_parse(e->format, strlen(e->format), e->system, &ignored);
	if (!s->format || !is_safe(s->format) || !is_complete(s->format))
		return;
	s->tep = tep_alloc();
	if (!s->tep)
		return;
	/* Formats are anybody's: what is wrong with them is not for brace's standard error. */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(s->tep, 8);
	tep_set_page_size(s->tep, (int)ARCH_PAGE);
	tep_set_file_bigendian(s->tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(s->tep, TEP_LITTLE_ENDIAN);
	if (tep_set_function_resolver(s->tep, function_of, t) < 0)
		return;
	parse_print(s);
}

/* The entry of an event, parsed at its first record. */
static struct shown *shown_of(struct event_texts *t, uint32_t index)
{
	const struct trace_event *e;
	struct shown *s;

	while (t->events.n <= index)
		*vec_add(&t->events) = (struct shown){ 0 };
	s = &t->events.at[index];
	e = s->known ? NULL : trace_info_event(t->info, index);
	if (e) {
		parse_event(t, s, e);
		s->made_of = e->made_of;
	}
	s->known |= e != NULL; /* the event of a live session may still become known */
	return s;
}

/* 0: the format cannot be parsed. The id is ftrace's common_type. */
uint32_t event_text_id(struct event_texts *t, const struct event *e)
{
	const struct shown *s = shown_of(t, e->fn);

	return s->format ? s->format->id : 0;
}

/* --- records --------------------------------------------------------------------------- */

/* Rebuilds the record as the kernel has it, common fields first, in t->record. Returns its size. */
static uint32_t rebuild_text(struct event_texts *t, const struct shown *s, const struct event *e)
{
	uint16_t id = (uint16_t)s->format->id;
	int32_t pid = (int32_t)t->info->threads.at[e->thread].tid;

	memset(t->record, 0, RECORD_BYTES);
	memcpy(t->record, &id, sizeof(id));
	memcpy(t->record + 4, &pid, sizeof(pid));
	memcpy(t->record + EVENT_COMMON_BYTES, e->payload, e->count);
	return EVENT_COMMON_BYTES + (uint32_t)e->count;
}

/* Whether the field says where its bytes are. */
static bool is_dynamic(const struct event_field *f)
{
	enum event_field_kind kind = event_field_kind(f);

	return kind == EVENT_RELATIVE || kind == EVENT_DYNAMIC || kind == EVENT_CPUMASK ||
	       !strncmp(f->type, "__data_loc", 10);
}

/* Finds a dynamic field's bytes; false: they are not in the record. */
static bool dynamic_of(const struct event_texts *t, const struct event_field *f, uint32_t size,
		       uint32_t *at, uint32_t *n)
{
	uint32_t place;

	memcpy(&place, t->record + f->offset, sizeof(place));
	*at = place & 0xffff;
	*n = place >> 16;
	if (event_field_kind(f) == EVENT_RELATIVE)
		*at += f->offset + 4u;
	return *at <= size && *n <= size - *at;
}

/* Whether the fixed fields, and the bytes that dynamic ones refer to, lie in the record. */
static bool is_whole(const struct event_texts *t, const struct shown *s, uint32_t size)
{
	uint32_t at, n;

	for (size_t i = 0; i < s->format->n; i++) {
		const struct event_field *f = &s->format->fields[i];

		if ((uint32_t)f->offset + f->size > size ||
		    (is_dynamic(f) && !dynamic_of(t, f, size, &at, &n)))
			return false;
	}
	return true;
}

/* --- by field, as the option `fields` ---------------------------------------------------- */

/* Two digits a byte, as the kernel's option `fields` shows what is no number. */
static void print_bytes(struct trace_seq *s, const uint8_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		trace_seq_printf(s, "%s%02x", i ? "," : "", at[i]);
}

/* Prints a number as the kernel's option `fields` does: in hexadecimal, and in decimal by its
 * sign. */
static void print_number(struct trace_seq *s, const struct event_field *f, const uint8_t *at)
{
	uint64_t v = 0;
	int64_t narrow;

	memcpy(&v, at, f->size);
	narrow = (int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size);
	trace_seq_printf(s, "0x%llx (%lld)", (unsigned long long)v,
			 f->is_signed ? (long long)narrow : (long long)v);
}

/* Whether the field is a string that a system call was given. */
static bool is_given_string(const struct event_format *e, const struct event_field *f)
{
	const char *at = e->print;
	size_t n = strlen(f->name);

	if (event_field_kind(f) != EVENT_DYNAMIC || strcmp(e->system, "syscalls") != 0)
		return false;
	while ((at = strstr(at, "__get_str("))) {
		at += strlen("__get_str(");
		if (!strncmp(at, f->name, n) && at[n] == ')')
			return true;
	}
	return false;
}

/* Whether the field is a buffer of a system call that is not plain text: any bytes. */
static bool is_given_bytes(const struct event_texts *t, const struct shown *s,
			   const struct event_field *f, uint32_t at, uint32_t n)
{
	if (strcmp(s->format->system, "syscalls") != 0 || is_given_string(s->format, f))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (t->record[at + i] < ' ' || t->record[at + i] > '~')
			return true;
	return false;
}

/* One field under the option `fields`. is_whole() has found its bytes in the record; a dynamic
 * one is looked up again, because its place is in the record. */
static void print_field(struct event_texts *t, const struct shown *s, const struct event_field *f,
			uint32_t size)
{
	enum event_field_kind kind = event_field_kind(f);
	const uint8_t *at = t->record + f->offset;
	/* a field without a size goes to the record's end */
	uint32_t length = f->size || size < f->offset ? f->size : size - f->offset;
	uint32_t place, n;

	if (is_dynamic(f)) {
		dynamic_of(t, f, size, &place, &n);
		if (strstr(f->type, "char") && !is_given_bytes(t, s, f, place, n))
			trace_seq_printf(&t->seq, "%.*s", (int)n, (const char *)t->record + place);
		else
			print_bytes(&t->seq, t->record + place, n);
	} else if (kind == EVENT_STRING) {
		trace_seq_printf(&t->seq, "%.*s", (int)length, (const char *)at);
	} else if (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8) {
		print_number(&t->seq, f, at);
	} else {
		print_bytes(&t->seq, at, length);
	}
}

/* The order is that of the format's lines. */
static void print_fields(struct event_texts *t, const struct shown *s, uint32_t size)
{
	trace_seq_printf(&t->seq, "%s:", s->format->name);
	for (size_t i = 0; i < s->format->n; i++) {
		trace_seq_printf(&t->seq, " %s=", s->format->fields[i].name);
		print_field(t, s, &s->format->fields[i], size);
	}
}

/* Events that histograms make, known by their system. */
static bool is_synthetic(const struct event_format *f)
{
	return !strcmp(f->system, SYNTHETIC_SYSTEM);
}

/* The number as its type is shown by the kernel. */
static void print_plain(struct trace_seq *s, const struct event_field *f, const uint8_t *at)
{
	uint64_t v = 0;
	unsigned unused = 64 - 8u * f->size;

	memcpy(&v, at, f->size);
	if (!strcmp(f->type, "gfp_t"))
		trace_seq_printf(s, "%llx", (unsigned long long)v);
	else if (f->is_signed)
		trace_seq_printf(s, "%lld", (long long)((int64_t)(v << unused) >> unused));
	else
		trace_seq_printf(s, "%llu", (unsigned long long)v);
}

/* A field of type `stack`, a line for each frame, as the kernel has it: eight bytes each; what is
 * left over is no address. */
static void print_frames(struct event_texts *t, const uint8_t *at, uint32_t n)
{
	trace_seq_puts(&t->seq, "STACK:\n");
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		uint64_t address;

		memcpy(&address, at + i, sizeof(address));
		trace_seq_puts(&t->seq, "=> ");
		stack_text_symbol(t->info, t->printed, address, &t->seq);
		trace_seq_putc(&t->seq, '\n');
	}
}

/* A program's text stays on its line. */
static void print_on_line(struct trace_seq *s, const char *at, uint32_t n)
{
	for (uint32_t i = 0; i < n && at[i]; i++)
		trace_seq_putc(s, at[i] == '\n' || at[i] == '\r' ? ' ' : (unsigned char)at[i]);
}

/* Prints NAME=VALUE with blanks between, as the kernel's `trace` does, unlike the event's print
 * format. True: it has several lines, of a stack. */
static bool print_synthetic(struct event_texts *t, const struct shown *s, uint32_t size)
{
	bool lines = false;

	trace_seq_printf(&t->seq, "%s:", s->format->name);
	for (size_t i = 0; i < s->format->n; i++) {
		const struct event_field *f = &s->format->fields[i];
		uint32_t at = f->offset, n = f->size;

		trace_seq_printf(&t->seq, " %s=", f->name);
		if (is_dynamic(f))
			dynamic_of(t, f, size, &at, &n);
		if (synthetic_is_string(f))
			print_on_line(&t->seq, (const char *)t->record + at, n);
		else if (is_dynamic(f))
			print_frames(t, t->record + at, n);
		else if (n == 1 || n == 2 || n == 4 || n == 8)
			print_plain(&t->seq, f, t->record + at);
		lines |= !synthetic_is_string(f) && is_dynamic(f);
	}
	return lines;
}

/* Copies narrow fields to the places that the widened format names. */
static void put_wide(struct event_texts *t, const struct shown *s)
{
	for (size_t i = 0; i < s->format->n; i++) {
		const struct event_field *f = &s->format->fields[i];
		int32_t v = 0;

		if (s->wide[i].offset == f->offset)
			continue;
		memcpy(&v, t->record + f->offset, f->size);
		v = f->size == 1 ? (int8_t)v : (int16_t)v;
		memcpy(t->record + s->wide[i].offset, &v, sizeof(v));
	}
}

/* Puts dots for control characters of such strings, as the kernel does when it records them. */
static void blank_controls(struct event_texts *t, const struct shown *s, uint32_t size)
{
	for (size_t i = 0; i < s->format->n; i++) {
		uint32_t at, n;

		if (!is_given_string(s->format, &s->format->fields[i]) ||
		    !dynamic_of(t, &s->format->fields[i], size, &at, &n))
			continue;
		for (uint32_t k = 0; k + 1 < n; k++)
			if (iscntrl(t->record[at + k]))
				t->record[at + k] = '.';
	}
}

/* Prints by the event's own format, with libtraceevent. Wide fields are put in first. */
static void print_by_format(struct event_texts *t, const struct shown *s, const struct event *e)
{
	struct tep_record record = { .data = t->record, .size = RECORD_BYTES + WIDE_BYTES };

	t->printed = e;
	put_wide(t, s);
	trace_seq_printf(&t->seq, "%s: ", s->format->name);
	tep_print_event(s->tep, &t->seq, &record, "%s", TEP_PRINT_INFO);
}

/* Prints a probe's record, or that of an event on another one; false: nothing, its format is
 * unusual. */
static bool print_probe(struct event_texts *t, const struct shown *s, const struct event *e,
			uint32_t size)
{
	bool made;

	if (!s->made_of && !probe_text_is(s->format))
		return false;
	t->printed = e;
	made = s->made_of && !probe_text_has_place(s->format, t->record, size);
	trace_seq_printf(&t->seq, "%s: ", s->format->name);
	if (made)
		trace_seq_printf(&t->seq, "(%s)", s->made_of);
	if (probe_text(s->format, made, t->record, size, function_of, t, &t->seq))
		return true;
	trace_seq_reset(&t->seq);
	return false;
}

/* The order of preference: by field if asked for, or if libtraceevent cannot print the event; by
 * its own format otherwise. */
static void print_as_asked(struct event_texts *t, const struct shown *s, const struct event *e,
			   bool by_field, uint32_t size)
{
	if (by_field || !s->event) {
		print_fields(t, s, size);
		return;
	}
	blank_controls(t, s, size);
	print_by_format(t, s, e);
}

/* Makes one line of the text, whatever a program wrote into it. */
static const char *one_line(struct event_texts *t)
{
	size_t n = t->seq.len < TEXT_MAX - 1 ? t->seq.len : TEXT_MAX - 1;

	memcpy(t->text, t->seq.buffer, n);
	while (n && (t->text[n - 1] == '\n' || t->text[n - 1] == ' '))
		n--;
	t->text[n] = '\0';
	for (char *c = t->text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	return t->text;
}

/* Offset of a marker's text. The kernel prints the address before it as the function that wrote the
 * text; here that is always the same one. */
#define MARKER_AT 16 /* of the text */

/* Text of trace_marker, known by its event: its number differs between kernels. */
static bool is_marker(const struct event_format *f)
{
	return !strcmp(f->name, "print") && !strcmp(f->system, "ftrace");
}

/* *user: the program's stack, not the kernel's. */
static bool is_stack(const struct event_format *f, bool *user)
{
	*user = !strcmp(f->name, "user_stack");
	return (*user || !strcmp(f->name, "kernel_stack")) && !strcmp(f->system, "ftrace");
}

#define RAW_AT 12 /* offset of a raw marker's bytes behind its id */

/* Bytes of trace_marker_raw. */
static bool is_raw_marker(const struct event_format *f)
{
	return !strcmp(f->name, "raw_data") && !strcmp(f->system, "ftrace");
}

/* Prints trace_marker_raw's bytes as the kernel does. */
static void print_raw_marker(struct event_texts *t, uint32_t size)
{
	uint32_t id;

	memcpy(&id, t->record + EVENT_COMMON_BYTES, sizeof(id));
	trace_seq_printf(&t->seq, "# %x buf:", id);
	for (uint32_t i = RAW_AT; i < size; i++)
		trace_seq_printf(&t->seq, " %02x", t->record[i]);
}

/* NULL: the event has no raw form of its own, and the kernel prints its type instead. */
const char *event_text_raw(struct event_texts *t, const struct event *e)
{
	const struct shown *s = shown_of(t, e->fn);
	uint32_t size;

	if (!s->format || e->count > 8 * RECORD_PAYLOAD_MAX ||
	    !(is_marker(s->format) || is_raw_marker(s->format)))
		return NULL;
	trace_seq_reset(&t->seq);
	size = rebuild_text(t, s, e);
	/* The fixed offsets below rely on the record being whole. */
	if (!is_whole(t, s, size))
		return NULL;
	if (is_raw_marker(s->format))
		print_raw_marker(t, size);
	else
		trace_seq_printf(&t->seq, "# %lx %.*s", (unsigned long)e->payload[0],
				 (int)(size - MARKER_AT), (const char *)t->record + MARKER_AT);
	return one_line(t);
}

/* Only events of the system ftrace: a program's own event may have any name. */
bool event_text_is(struct event_texts *t, const struct event *e, const char *name)
{
	const struct shown *s = shown_of(t, e->fn);

	return s->format && !strcmp(s->format->name, name) && !strcmp(s->format->system, "ftrace");
}

/* The text is valid until the next call of this printer's. Never NULL: what cannot be shown is
 * said in its place. */
const char *event_text(struct event_texts *t, const struct event *e, uint64_t options)
{
	const struct shown *s = shown_of(t, e->fn);
	bool by_field, user, lines = false;
	uint32_t size;

	t->printed = e;
	if (!s->format || e->count > 8 * RECORD_PAYLOAD_MAX) {
		snprintf(t->text, sizeof(t->text), "[event %u]:", e->fn);
		return t->text;
	}
	/* The kernel prints a user event by its fields, whatever its print format says. */
	by_field = option_is_set(options, OPTION_FIELDS) || user_event_is(s->format);
	trace_seq_reset(&t->seq);
	/* Stacks have no fixed length, so that their format cannot be checked like others. */
	if (is_stack(s->format, &user) && !by_field &&
	    e->count >= STACK_TEXT_LEAST - EVENT_COMMON_BYTES) {
		stack_text(t->info, e, user, options, &t->seq);
		return t->seq.buffer;
	}
	size = rebuild_text(t, s, e);
	if (!is_whole(t, s, size))
		trace_seq_printf(&t->seq, "%s: [a record of %u bytes that is not of its format]",
				 s->format->name, size);
	else if (is_marker(s->format) && !by_field)
		trace_seq_printf(&t->seq, EVENT_TEXT_MARKER "%.*s", (int)(size - MARKER_AT),
				 (const char *)t->record + MARKER_AT);
	else if (is_raw_marker(s->format) && !by_field)
		print_raw_marker(t, size);
	else if (is_synthetic(s->format) && !by_field)
		lines = print_synthetic(t, s, size);
	else if (by_field || !print_probe(t, s, e, size))
		print_as_asked(t, s, e, by_field, size);
	trace_seq_terminate(&t->seq);
	return lines ? t->seq.buffer : one_line(t);
}
