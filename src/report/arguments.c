/* SPDX-License-Identifier: MIT */
/* Prints values by their types: as the kernel's funcgraph-args where it has the type (numbers with
 * a sign are decimal, those without and pointers hexadecimal), as gdb otherwise. Printers call it
 * on their thread; no state. Every value is checked to lie in the record. */
#include "report/arguments_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/prototype.h"
#include "base/utf8.h"


/* One byte stays free, for finish_text()'s NUL. */
static void put_bytes(struct argument_text *t, const char *bytes, size_t n)
{
	if (n > TEXT_MOST - 1 - t->n)
		n = TEXT_MOST - 1 - t->n;
	memcpy(t->at + t->n, bytes, n);
	t->n += n;
}

/* A text that does not fit is cut, as every part of it: TEXT_MOST is far beyond what a terminal
 * shows. */
static void put_text(struct argument_text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

__attribute__((format(printf, 2, 3)))
/* For numbers and escapes, which need fewer than 64 bytes. */
static void put_format(struct argument_text *t, const char *format, ...)
{
	char text[64];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	put_text(t, text);
}

/* Behind the end there may be what was tried and taken back (put_flags). */
static char *finish_text(struct argument_text *t)
{
	t->at[t->n] = '\0';
	return mem_realloc(t->at, t->n + 1, 1);
}

/* --- characters ------------------------------------------------------------------------------- */

/* One byte that is no printable character, as C writes it. */
static void put_unprintable(struct argument_text *t, uint8_t byte)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	if (byte >= 7 && byte < 7 + sizeof(letters) - 1)
		put_format(t, "\\%c", letters[byte - 7]);
	else
		put_format(t, "\\%03o", byte);
}

/* `quote` and the backslash are escaped. UTF-8 stays as it is if it is printable; a byte of none is
 * shown as a number, as gdb does. */
static void put_characters(struct argument_text *t, const char *s, size_t n, char quote)
{
	while (n) {
		uint32_t code;
		size_t one = utf8_character(s, n, &code);

		if (!one || !escape_is_printable(code) || code == '\n' || code == '\t') {
			put_unprintable(t, (uint8_t)*s);
			one = 1;
		} else {
			if (*s == quote || *s == '\\')
				put_bytes(t, "\\", 1);
			put_bytes(t, s, one);
		}
		s += one;
		n -= one;
	}
}

/* length << 16 | offset; length 0: it could not be read, offset 0: the pointer was 0. */
static void put_string(struct argument_text *t, const uint8_t *record, size_t bytes, uint32_t where)
{
	uint32_t length = where >> 16, offset = where & 0xffff;
	size_t shown;

	/* The record is the program's: where it says the string lies may be anywhere. */
	if (!length) {
		put_text(t, offset ? "(fault)" : "0x0");
		return;
	}
	if (offset < PROTOTYPE_FIRST || offset > bytes || length > bytes - offset) {
		put_text(t, "?");
		return;
	}
	shown = strnlen((const char *)record + offset, length);
	put_bytes(t, "\"", 1);
	put_characters(t, (const char *)record + offset,
		       shown < PROTOTYPE_STRING ? shown : PROTOTYPE_STRING, '"');
	put_text(t, shown > PROTOTYPE_STRING ? "\"..." : "\"");
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The lowest `size` bytes, with their sign if it has one: what lies above them in the register
 * belongs to nobody. */
uint64_t arguments_narrow(uint64_t number, const struct prototype_value *v)
{
	unsigned unused = 64 - 8u * v->size;

	number <<= unused;
	return v->type == PROTOTYPE_SIGNED ? (uint64_t)((int64_t)number >> unused)
					   : number >> unused;
}

/* Writes as many digits as give the same number again. */
static void put_double(struct argument_text *t, double number)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	put_text(t, text);
}

/* A float needs at most 9 digits, where a double needs 17. */
static void put_single(struct argument_text *t, float number)
{
	char text[40];

	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)number);
		if (strtof(text, NULL) == number)
			break;
	}
	put_text(t, text);
}

static void put_float(struct argument_text *t, const struct prototype_value *v, uint64_t number)
{
	char text[PROTOTYPE_DECIMAL];

	if (v->decimal) {
		prototype_decimal(v, &number, text);
		put_text(t, text);
	} else if (v->size == 2) {
		/* Five digits always give a _Float16 again. */
		put_format(t, "%.5g", prototype_real(v, number));
	} else if (v->size == sizeof(float)) {
		put_single(t, (float)prototype_real(v, number));
	} else {
		put_double(t, prototype_real(v, number));
	}
}

#define MODE_BITS 3u /* of struct prototype_value's `moded` */

/* The first name of that number; false: there is none. */
static bool find_name(const struct prototype_value *v, uint64_t number, struct prototype_name *name)
{
	const char *at = v->names, *end = v->names + v->names_bytes;

	while (prototype_next_name(&at, end, name))
		if (arguments_narrow((uint64_t)name->number, v) == number)
			return true;
	return false;
}

/* "A|B" for a number that names make up, each of bits that no other has; false: they do not. */
static bool put_flags(struct argument_text *t, const struct prototype_value *v, uint64_t number)
{
	const char *at = v->names, *end = v->names + v->names_bytes;
	const uint64_t mode = v->moded ? MODE_BITS : 0;
	struct argument_text text = *t;
	struct prototype_name name;
	uint64_t left = number & ~mode;

	if (!number || (mode && !find_name(v, number & mode, &name)))
		return false;
	if (mode)
		put_bytes(&text, name.text, name.bytes);
	while (left && prototype_next_name(&at, end, &name)) {
		uint64_t bits = arguments_narrow((uint64_t)name.number, v);

		if (!bits || (bits & left) != bits)
			continue;
		if (mode || left != number)
			put_bytes(&text, "|", 1);
		put_bytes(&text, name.text, name.bytes);
		left &= ~bits;
	}
	if (left)
		return false;
	*t = text;
	return true;
}

/* A number of 16 bytes: C's formats have none. */
static void put_wide(struct argument_text *t, const uint8_t *at, bool sign)
{
	unsigned __int128 number;
	char text[48], *digit = text + sizeof(text);
	bool negative;

	memcpy(&number, at, sizeof(number));
	negative = sign && (__int128)number < 0;
	if (negative)
		number = -number;
	do
		*--digit = "0123456789abcdef"[number % (sign ? 10 : 16)];
	while (number /= sign ? 10 : 16);
	put_text(t, negative ? "-" : sign ? "" : "0x");
	put_bytes(t, digit, (size_t)(text + sizeof(text) - digit));
}

/* As put_double(). */
static void put_long_double(struct argument_text *t, const uint8_t *at)
{
	long double number = 0;
	char text[64];

	memcpy(&number, at, 10);
	for (int digits = 6; digits <= 21; digits++) {
		snprintf(text, sizeof(text), "%.*Lg", digits, number);
		if (strtold(text, NULL) == number)
			break;
	}
	put_text(t, text);
}

#ifdef __clang__ /* glibc's headers have them for gcc alone */
int strfromf128(char *text, size_t n, const char *form, __float128 number);
__float128 strtof128(const char *text, char **end);
#endif

/* As put_double(). */
static void put_quad(struct argument_text *t, const struct prototype_value *v, const uint8_t *at)
{
	__float128 number;
	char text[PROTOTYPE_DECIMAL], form[8];

	if (v->decimal) {
		prototype_decimal(v, at, text);
		put_text(t, text);
		return;
	}
	memcpy(&number, at, sizeof(number));
	for (int digits = 6; digits <= 36; digits++) {
		snprintf(form, sizeof(form), "%%.%dg", digits);
		strfromf128(text, sizeof(text), form, number);
		if (strtof128(text, NULL) == number)
			break;
	}
	put_text(t, text);
}

/* As gdb writes it: "1.5 + -2i". */
static void put_complex(struct argument_text *t, const struct prototype_value *v, const uint8_t *at)
{
	const struct prototype_value part = { .type = PROTOTYPE_FLOAT, .size = v->size / 2 };
	uint64_t real = 0, imaginary = 0;

	memcpy(&real, at, part.size);
	memcpy(&imaginary, at + part.size, part.size);
	put_float(t, &part, real);
	put_text(t, " + ");
	put_float(t, &part, imaginary);
	put_text(t, "i");
}

bool arguments_put_whole(struct argument_text *t, const struct prototype_value *v,
			 const uint8_t *at)
{
	switch ((enum prototype_type)v->type) {
	case PROTOTYPE_WIDE_SIGNED: put_wide(t, at, true); return true;
	case PROTOTYPE_WIDE_UNSIGNED: put_wide(t, at, false); return true;
	case PROTOTYPE_LONG_DOUBLE: put_long_double(t, at); return true;
	case PROTOTYPE_QUAD: put_quad(t, v, at); return true;
	case PROTOTYPE_COMPLEX: put_complex(t, v, at); return true;
	default: return false;
	}
}

/* By its name, by the names of its bits, or as a number. Of several names for one number the first
 * one counts, as in gdb. */
static void put_enum(struct argument_text *t, const struct prototype_value *v, uint64_t number)
{
	struct prototype_name name;

	number = arguments_narrow(number, v);
	if ((!v->moded || number <= MODE_BITS) && find_name(v, number, &name))
		put_bytes(t, name.text, name.bytes);
	else if (!put_flags(t, v, number))
		put_format(t, "%" PRIu64, number);
}

/* With its quotes; the number of it is not shown, unlike gdb's. */
static void put_char(struct argument_text *t, char c)
{
	put_bytes(t, "'", 1);
	put_characters(t, &c, 1, '\'');
	put_bytes(t, "'", 1);
}

/* The function at an address, or the variable. A function whose size is not known owns its begin
 * alone. False: nothing is known there. */
static bool find_symbol(const struct argument_text *t, uint64_t address, char *name, size_t n,
			uint64_t *offset)
{
	const struct trace_module *m;
	const struct trace_function *f =
		trace_info_function_at(t->info, t->image, address, t->tsc, &m);
	const struct trace_global *g;

	*offset = f ? address - m->base - f->vaddr : 0;
	if (f && (!*offset || f->size)) {
		trace_function_name(m, f, name, n);
		return true;
	}
	g = trace_info_global_at(t->info, t->image, address, t->tsc, &m);
	if (!g)
		return false;
	*offset = address - m->base - g->vaddr;
	trace_global_name(m, g, name, n);
	return true;
}

/* " <NAME>" behind the address of a function or variable, " <NAME+0xOFFSET>" in it, as gdb has
 * them. The kernel's printers show its own addresses as numbers. */
static void put_symbol(struct argument_text *t, uint64_t address)
{
	char name[512];
	uint64_t offset;

	if (!t->info || !address ||
	    (t->image == TRACE_KERNEL_IMAGE && trace_info_has_kernel(t->info)) ||
	    !find_symbol(t, address, name, sizeof(name), &offset))
		return;
	put_bytes(t, " <", 2);
	put_characters(t, name, strlen(name), '\0');
	if (offset)
		put_format(t, "+0x%" PRIx64, offset);
	put_bytes(t, ">", 1);
}

/* A value that is no string. */
void arguments_put_number(struct argument_text *t, const struct prototype_value *v, uint64_t number)
{
	switch ((enum prototype_type)v->type) {
	case PROTOTYPE_SIGNED: put_format(t, "%" PRId64, (int64_t)arguments_narrow(number, v)); break;
	case PROTOTYPE_UNSIGNED: put_format(t, "0x%" PRIx64, arguments_narrow(number, v)); break;
	case PROTOTYPE_CHAR: put_char(t, (char)number); break;
	case PROTOTYPE_BOOL: put_text(t, number & 0xff ? "true" : "false"); break;
	case PROTOTYPE_FLOAT: put_float(t, v, number); break;
	case PROTOTYPE_ENUM: put_enum(t, v, number); break;
	case PROTOTYPE_POINTER: case PROTOTYPE_STRING_AT:
		put_format(t, "0x%" PRIx64, number);
		put_symbol(t, number);
		break;
	case PROTOTYPE_VOID: case PROTOTYPE_UNKNOWN: case PROTOTYPE_UNASKED:
	case PROTOTYPE_STRUCT: case PROTOTYPE_CHARS: case PROTOTYPE_ARRAY:
	case PROTOTYPE_WHOLE: case PROTOTYPE_WIDE_SIGNED: case PROTOTYPE_WIDE_UNSIGNED:
	case PROTOTYPE_LONG_DOUBLE: case PROTOTYPE_QUAD: case PROTOTYPE_COMPLEX:
		put_text(t, "?");
		break;
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

/* NULL: the function is not known, or its file does not say what it takes. */
const char *arguments_prototype(const struct trace_info *info, uint32_t image, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(info, image, fn, &m);

	return f && f->prototype ? m->strings.at + f->prototype : NULL;
}

/* Characters in place, up to the first NUL. */
static void put_characters_at(struct argument_text *t, const struct prototype_value *v,
		      const uint8_t *record)
{
	size_t n = strnlen((const char *)record + v->at, v->bytes);

	put_bytes(t, "\"", 1);
	put_characters(t, (const char *)record + v->at,
		       n < PROTOTYPE_STRING ? n : PROTOTYPE_STRING, '"');
	put_text(t, n > PROTOTYPE_STRING ? "\"..." : "\"");
}

static void put_parameter(struct argument_text *t, const struct prototype_value *v,
			  const uint8_t *record, size_t bytes);

/* "{1, 2, 3, ...}" */
static void put_elements(struct argument_text *t, const struct prototype_value *v,
			 const uint8_t *record, size_t bytes)
{
	put_bytes(t, "{", 1);
	for (uint32_t i = 0; i < v->elements; i++) {
		const struct prototype_value element = prototype_element(v, i);

		if (i)
			put_text(t, ", ");
		put_parameter(t, &element, record, bytes);
	}
	put_text(t, v->more ? ", ...}" : "}");
}

/* "{cents=4, name=\"x1\"}" */
static void put_members(struct argument_text *t, const struct prototype_value *of,
			const uint8_t *record, size_t bytes)
{
	put_bytes(t, "{", 1);
	for (uint32_t i = 1; i <= of->members; i++) {
		if (i > 1)
			put_text(t, ", ");
		put_parameter(t, of + i, record, bytes);
	}
	if (of->more)
		put_text(t, of->members ? ", ..." : "...");
	put_bytes(t, "}", 1);
}

/* By its address it is told from one by value, as in C: the address of what is in the braces. */
static void put_struct(struct argument_text *t, const struct prototype_value *v,
		       const uint8_t *record, size_t bytes)
{
	uint64_t address = 1;

	if ((size_t)v->block + v->bytes + v->by_address > bytes) {
		put_text(t, "?");
		return;
	}
	if (v->by_address)
		memcpy(&address, record + v->at, sizeof(address));
	if (!address)
		put_text(t, "0x0");
	else if (v->by_address && !record[v->block + v->bytes])
		put_text(t, "(fault)");
	else if (v->by_address)
		put_text(t, "&");
	if (address && (!v->by_address || record[v->block + v->bytes]))
		put_members(t, v, record, bytes);
}

/* record: from its header on; `bytes` of it. */
static void put_parameter(struct argument_text *t, const struct prototype_value *v,
			  const uint8_t *record, size_t bytes)
{
	uint64_t number = 0;

	if (v->name) {
		put_bytes(t, v->name, v->name_bytes);
		put_bytes(t, "=", 1);
	}
	if (v->type == PROTOTYPE_CHARS && (size_t)v->at + v->bytes <= bytes) {
		put_characters_at(t, v, record);
		return;
	}
	if (v->type == PROTOTYPE_ARRAY) {
		put_elements(t, v, record, bytes);
		return;
	}
	if (v->type == PROTOTYPE_STRUCT) {
		put_struct(t, v, record, bytes);
		return;
	}
	if (v->size && v->at + v->size > bytes) {
		put_text(t, "?");
		return;
	}
	if (arguments_put_whole(t, v, record + v->at))
		return;
	memcpy(&number, record + v->at, v->size);
	if (v->type == PROTOTYPE_STRING_AT)
		put_string(t, record, bytes, (uint32_t)number);
	else
		arguments_put_number(t, v, number);
}

/* False: the types of the function are not known, or the record is longer than any that brace
 * makes, and so was not made by it. */
bool arguments_record(const struct trace_info *info, const struct event *e, struct prototype *p,
		      uint8_t record[ARGUMENTS_RECORD])
{
	uint32_t image = e->thread < info->threads.n ? info->threads.at[e->thread].image : 0;
	const char *prototype = arguments_prototype(info, image, e->fn);

	if (!prototype || !prototype_parse(prototype, p) || !p->takes ||
	    e->count > ARGUMENTS_RECORD - PROTOTYPE_FIRST)
		return false;
	/* Places count from the record's header, which the payload lacks. */
	memset(record, 0, ARGUMENTS_RECORD);
	memcpy(record + PROTOTYPE_FIRST, e->payload, e->count);
	return true;
}

/* For free(); NULL: nothing is known of the function's types. Parameters that were recorded but
 * are not described show as "...". */
char *arguments_text(const struct trace_info *info, const struct event *e)
{
	uint8_t record[ARGUMENTS_RECORD];
	struct argument_text t = { .info = info, .tsc = e->tsc };
	struct prototype p;

	if (!arguments_record(info, e, &p, record))
		return NULL;
	t.at = mem_zalloc(TEXT_MOST);
	t.image = e->thread < info->threads.n ? info->threads.at[e->thread].image : 0;
	put_bytes(&t, "(", 1);
	for (uint32_t i = 0; i < p.n; i += 1 + p.parameters[i].members) {
		if (i)
			put_text(&t, ", ");
		put_parameter(&t, &p.parameters[i], record, PROTOTYPE_FIRST + e->count);
	}
	if (p.more)
		put_text(&t, p.n ? ", ..." : "...");
	put_text(&t, ")");
	return finish_text(&t);
}

/* For a call whose arguments are described, but were not recorded: "(...)" tells that from a
 * function without any. */
const char *arguments_unknown(const struct trace_info *info, uint32_t thread, uint32_t fn)
{
	uint32_t image = thread < info->threads.n ? info->threads.at[thread].image : 0;
	const char *prototype = arguments_prototype(info, image, fn);
	struct prototype p;

	return prototype && prototype_parse(prototype, &p) && p.takes && (p.n || p.more) ? "(...)"
											 : NULL;
}

/* A returned string, which the agent has copied. */
static void put_returned_text(struct argument_text *t, struct call_value value)
{
	size_t n = value.bytes - 1;

	if (!value.bytes) {
		put_text(t, value.number ? "(fault)" : "0x0");
		return;
	}
	put_bytes(t, "\"", 1);
	put_characters(t, value.text, n < PROTOTYPE_STRING ? n : PROTOTYPE_STRING, '"');
	put_text(t, n > PROTOTYPE_STRING ? "\"..." : "\"");
}

/* Whether what was recorded is the value, as far as it has a register: older versions recorded rax
 * whatever the function returned, and so do calls that went on in another function. */
bool arguments_is_recorded(const struct prototype_value *v, struct call_value value)
{
	bool number = value.flags & CALL_FLOAT;

	if (v->type == PROTOTYPE_VOID || v->type == PROTOTYPE_UNASKED)
		return false;
	if (v->type == PROTOTYPE_STRING_AT && v->form != PROTOTYPE_PLAIN)
		return value.flags & CALL_TEXT;
	if (v->type == PROTOTYPE_WHOLE)
		return value.flags & CALL_BLOCK;
	return number == (v->type == PROTOTYPE_FLOAT);
}

bool arguments_whole(const struct prototype *p, struct call_value value, struct prototype *out,
		     uint8_t record[PROTOTYPE_RECORD], uint32_t *recorded)
{
	return value.bytes && p->whole.memory == !!(value.flags & CALL_MEMORY) &&
	       prototype_whole(p, value.text, value.bytes - 1, out, record, recorded);
}

/* A value of several words. */
static void put_returned_whole(struct argument_text *t, const struct prototype *p,
			       struct call_value value)
{
	uint8_t record[PROTOTYPE_RECORD];
	struct prototype whole;
	uint32_t recorded;

	if (arguments_whole(p, value, &whole, record, &recorded))
		put_parameter(t, &whole.parameters[0], record, recorded);
	else
		put_text(t, value.bytes ? "?" : "(fault)");
}

/* *text is set only for ARGUMENTS_VALUE_TEXT, for free(). */
enum arguments_value arguments_value(const struct trace_info *info, uint32_t image, uint32_t fn,
				     struct call_value value, uint64_t tsc, char **text)
{
	const char *prototype = arguments_prototype(info, image, fn);
	struct argument_text t = { .info = info, .tsc = tsc, .image = image };
	struct prototype p;

	if (!prototype || !prototype_parse(prototype, &p) ||
	    p.returns.type == PROTOTYPE_UNKNOWN)
		return value.flags & CALL_FLOAT ? ARGUMENTS_VALUE_HIDDEN : ARGUMENTS_VALUE_PLAIN;
	if (!arguments_is_recorded(&p.returns, value))
		return ARGUMENTS_VALUE_HIDDEN;
	t.at = mem_zalloc(TEXT_MOST);
	if (p.returns.type == PROTOTYPE_STRING_AT && value.flags & CALL_TEXT)
		put_returned_text(&t, value);
	else if (p.returns.type == PROTOTYPE_WHOLE)
		put_returned_whole(&t, &p, value);
	else
		arguments_put_number(&t, &p.returns, value.number);
	*text = finish_text(&t);
	return ARGUMENTS_VALUE_TEXT;
}
