/* SPDX-License-Identifier: MIT */
/* Tells arguments and returned values one by one, with their types, and as JSON by that. Exporters
 * call it on their thread; no state. The prototype and the record may be anybody's: every value is
 * checked to lie in the record. */
#include "report/arguments_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* The record that is told, and who is. */
struct telling {
	const uint8_t *record;
	size_t bytes;
	argument_visit *visit;
	void *context;
};

/* An element of an array has no name: "" then. */
static struct argument_told named(const struct prototype_value *v, enum argument_kind kind)
{
	return (struct argument_told){ .kind = (uint8_t)kind, .name = v->name ? v->name : "",
				  .name_bytes = v->name ? v->name_bytes : 0 };
}

/* The visitor gets texts that live for this call. */
static void tell_argument(const struct telling *t, const struct argument_told *a)
{
	t->visit(t->context, a);
}

static void tell_kind(const struct telling *t, const struct prototype_value *v,
		      enum argument_kind kind)
{
	struct argument_told a = named(v, kind);

	tell_argument(t, &a);
}

/* At most PROTOTYPE_STRING of the characters. */
static void tell_text(const struct telling *t, const struct prototype_value *v, const char *text,
		      size_t n)
{
	struct argument_told a = named(v, ARGUMENT_TEXT);

	a.text = text;
	a.more = n > PROTOTYPE_STRING;
	a.bytes = (uint32_t)(a.more ? PROTOTYPE_STRING : n);
	tell_argument(t, &a);
}

static void tell_pointer(const struct telling *t, const struct prototype_value *v, uint64_t number)
{
	struct argument_told a = named(v, ARGUMENT_POINTER);

	a.number = number;
	tell_argument(t, &a);
}

/* where: length << 16 | offset, as the record has it of a string. That is a __data_loc of the
 * kernel's events. 0 for both is a null pointer, no length alone a string that could not be read;
 * an offset before PROTOTYPE_FIRST would lie in the record's header. */
static void tell_string(const struct telling *t, const struct prototype_value *v, uint32_t where)
{
	uint32_t length = where >> 16, offset = where & 0xffff;
	const char *text = (const char *)t->record + offset;

	if (!length && !offset)
		tell_pointer(t, v, 0);
	else if (!length)
		tell_kind(t, v, ARGUMENT_FAULT);
	else if (offset < PROTOTYPE_FIRST || offset > t->bytes || length > t->bytes - offset)
		tell_kind(t, v, ARGUMENT_UNKNOWN);
	else
		tell_text(t, v, text, strnlen(text, length));
}

/* The words of a value that arguments.c has words for. They are in this function's frame: the
 * visitor copies what it keeps. */
static void tell_words(const struct telling *t, const struct prototype_value *v,
		       struct argument_told *a, uint64_t number)
{
	char words[TEXT_MOST];
	struct argument_text text = { words, 0 };

	arguments_put_number(&text, v, number);
	words[text.n] = '\0';
	a->text = words;
	a->bytes = (uint32_t)text.n;
	tell_argument(t, a);
}

/* As a text of one character: JSON has no other word for it. */
static void tell_char(const struct telling *t, const struct prototype_value *v, uint64_t number)
{
	char c = (char)number;

	tell_text(t, v, &c, 1);
}

/* A value that is no string. `number` may be a whole register: the bits above those of the type are
 * anybody's then (System V ABI for x86-64, 3.2.3), and are cut off. Of a bool the lowest byte
 * counts. */
static void tell_number(const struct telling *t, const struct prototype_value *v, uint64_t number)
{
	static const uint8_t kinds[PROTOTYPE_TYPES_N] = {
		[PROTOTYPE_SIGNED] = ARGUMENT_SIGNED, [PROTOTYPE_UNSIGNED] = ARGUMENT_UNSIGNED,
		[PROTOTYPE_BOOL] = ARGUMENT_BOOL, [PROTOTYPE_FLOAT] = ARGUMENT_FLOAT,
		[PROTOTYPE_POINTER] = ARGUMENT_POINTER, [PROTOTYPE_STRING_AT] = ARGUMENT_POINTER,
		[PROTOTYPE_ENUM] = ARGUMENT_NAME, [PROTOTYPE_CHARS] = 0, [PROTOTYPE_ARRAY] = 0,
	};
	struct argument_told a = named(v, v->type < PROTOTYPE_TYPES_N ? kinds[v->type] : 0);

	if (v->type == PROTOTYPE_CHAR) {
		tell_char(t, v, number);
		return;
	}
	a.number = v->type == PROTOTYPE_SIGNED || v->type == PROTOTYPE_UNSIGNED
			   ? arguments_narrow(number, v) : number;
	if (v->type == PROTOTYPE_BOOL)
		a.number = (number & 0xff) != 0;
	if (v->type == PROTOTYPE_FLOAT)
		a.real = prototype_real(v, number);
	if (v->type == PROTOTYPE_ENUM || v->type == PROTOTYPE_FLOAT)
		tell_words(t, v, &a, number);
	else
		tell_argument(t, &a);
}

/* Words for what has more bytes than a number. An x87 number has 80 bits, and 6 bytes behind them
 * in memory that are not its own: ten are copied. False: it is a number, for tell_number(). */
static bool tell_whole(const struct telling *t, const struct prototype_value *v)
{
	char words[TEXT_MOST];
	struct argument_text text = { words, 0 };
	struct argument_told a = named(v, ARGUMENT_NAME);
	long double real = 0;

	if (!arguments_put_whole(&text, v, t->record + v->at))
		return false;
	if (v->type == PROTOTYPE_LONG_DOUBLE) {
		memcpy(&real, t->record + v->at, 10);
		a.real = (double)real;
		/* A number beyond a double's range is shown by its digits. */
		a.kind = isfinite(a.real) ? ARGUMENT_FLOAT : ARGUMENT_NAME;
	}
	words[text.n] = '\0';
	a.text = words;
	a.bytes = (uint32_t)text.n;
	tell_argument(t, &a);
	return true;
}

static void tell_value(const struct telling *t, const struct prototype_value *v);

/* Behind a structure that lies elsewhere the record has a byte that tells whether it could be read.
 * Members follow their structure in the prototype's array. `address` stays 1, any number but 0, for
 * a structure that was passed by value: it is always there. */
static void tell_struct(const struct telling *t, const struct prototype_value *v)
{
	const struct argument_told close = { .kind = ARGUMENT_CLOSE };
	struct argument_told open = named(v, ARGUMENT_OPEN);
	uint64_t address = 1;

	if ((size_t)v->block + v->bytes + v->by_address > t->bytes) {
		tell_kind(t, v, ARGUMENT_UNKNOWN);
		return;
	}
	if (v->by_address)
		memcpy(&address, t->record + v->at, sizeof(address));
	if (!address) {
		tell_pointer(t, v, 0);
		return;
	}
	if (v->by_address && !t->record[v->block + v->bytes]) {
		tell_kind(t, v, ARGUMENT_FAULT);
		return;
	}
	open.more = v->more;
	tell_argument(t, &open);
	for (uint32_t i = 1; i <= v->members; i++)
		tell_value(t, v + i);
	tell_argument(t, &close);
}

static void tell_list(const struct telling *t, const struct prototype_value *v)
{
	const struct argument_told end = { .kind = ARGUMENT_LIST_END, .more = v->more };

	tell_kind(t, v, ARGUMENT_LIST);
	for (uint32_t i = 0; i < v->elements; i++) {
		const struct prototype_value element = prototype_element(v, i);

		tell_value(t, &element);
	}
	tell_argument(t, &end);
}

/* A record that was cut, or one of another prototype, has fewer bytes than the value needs: it is
 * told as unknown. */
static void tell_value(const struct telling *t, const struct prototype_value *v)
{
	uint64_t number = 0;

	if (v->type == PROTOTYPE_STRUCT) {
		tell_struct(t, v);
	} else if (v->type == PROTOTYPE_ARRAY) {
		tell_list(t, v);
	} else if (v->type == PROTOTYPE_CHARS && (size_t)v->at + v->bytes <= t->bytes) {
		tell_text(t, v, (const char *)t->record + v->at,
			  strnlen((const char *)t->record + v->at, v->bytes));
	} else if (!v->size || (size_t)v->at + v->size > t->bytes) {
		tell_kind(t, v, ARGUMENT_UNKNOWN);
	} else if (!tell_whole(t, v)) {
		memcpy(&number, t->record + v->at, v->size);
		if (v->type == PROTOTYPE_STRING_AT)
			tell_string(t, v, (uint32_t)number);
		else
			tell_number(t, v, number);
	}
}

/* A parameter that is a structure has its members behind it, which tell_struct() has told by then.
 * False: the types are not known, or the record is none of brace's; nothing was told. */
bool arguments_each(const struct trace_info *info, const struct event *e, argument_visit *visit,
		    void *context)
{
	uint8_t record[ARGUMENTS_RECORD];
	struct prototype p;
	struct telling t = { record, PROTOTYPE_FIRST + e->count, visit, context };

	if (!arguments_record(info, e, &p, record))
		return false;
	for (uint32_t i = 0; i < p.n; i += 1 + p.parameters[i].members)
		tell_value(&t, &p.parameters[i]);
	return true;
}

/* A value of several words, as the parameter that prototype_whole() makes of it. */
static void tell_returned_whole(const struct telling *t, const struct prototype *p,
				struct call_value value)
{
	uint8_t record[PROTOTYPE_RECORD];
	struct telling of = *t;
	struct prototype whole;
	uint32_t recorded;

	if (!arguments_whole(p, value, &whole, record, &recorded)) {
		tell_kind(t, &p->returns, value.bytes ? ARGUMENT_UNKNOWN : ARGUMENT_FAULT);
		return;
	}
	of.record = record;
	of.bytes = recorded;
	whole.parameters[0].name = p->returns.name;
	whole.parameters[0].name_bytes = p->returns.name_bytes;
	tell_value(&of, &whole.parameters[0]);
}

/* False also for a function without a prototype, and where the record has no value. `name` is what
 * the value is called among the arguments. A string has its NUL in value.bytes, which is taken off;
 * bytes 0 and a number that is not 0 is a pointer that could not be read. */
bool arguments_returned(const struct trace_info *info, uint32_t image, uint32_t fn,
			struct call_value value, const char *name, argument_visit *visit,
			void *context)
{
	const char *prototype = arguments_prototype(info, image, fn);
	const struct telling t = { .visit = visit, .context = context };
	struct prototype p;

	if (!prototype || !prototype_parse(prototype, &p) ||
	    p.returns.type == PROTOTYPE_UNKNOWN || !arguments_is_recorded(&p.returns, value))
		return false;
	p.returns.name = name;
	p.returns.name_bytes = (uint32_t)strlen(name);
	if (p.returns.type == PROTOTYPE_WHOLE)
		tell_returned_whole(&t, &p, value);
	else if (p.returns.type != PROTOTYPE_STRING_AT || !(value.flags & CALL_TEXT))
		tell_number(&t, &p.returns, value.number);
	else if (value.bytes)
		tell_text(&t, &p.returns, value.text, value.bytes - 1);
	else if (value.number)
		tell_kind(&t, &p.returns, ARGUMENT_FAULT);
	else
		tell_pointer(&t, &p.returns, 0);
	return true;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

/* first: nothing stands in the object yet. alone: a value without its name. */
struct json_telling { struct out *out; bool first, alone, in_list; unsigned n; };

static void put_json_text(struct out *o, const char *text, size_t n, bool more)
{
	char *copy = mem_printf("%.*s%s", (int)n, text, more ? "..." : "");

	/* A NUL within ends it: JSON's strings are C's here. */
	json_string(o, copy);
	free(copy);
}

/* A parameter without a name is known by its number. */
static void put_json_name(struct json_telling *j, const struct argument_told *a)
{
	char *name = a->name_bytes ? mem_strndup(a->name, a->name_bytes) : mem_printf("arg%u", j->n);

	json_string(j->out, name);
	out_char(j->out, ':');
	free(name);
}

/* Pointers are strings: readers of JSON lose the low bits of large numbers. Infinities and NaN,
 * which JSON does not have, are strings as well. */
static void put_json_value(struct json_telling *j, const struct argument_told *a)
{
	struct out *o = j->out;

	switch ((enum argument_kind)a->kind) {
	case ARGUMENT_SIGNED: out_printf(o, "%" PRId64, (int64_t)a->number); break;
	case ARGUMENT_UNSIGNED: out_printf(o, "%" PRIu64, a->number); break;
	case ARGUMENT_BOOL: out_str(o, a->number ? "true" : "false"); break;
	case ARGUMENT_POINTER:
		if (a->number)
			out_printf(o, "\"0x%" PRIx64 "\"", a->number);
		else
			out_str(o, "null");
		break;
	case ARGUMENT_FLOAT:
		if (isfinite(a->real))
			out_bytes(o, a->text, a->bytes);
		else
			put_json_text(o, a->text, a->bytes, false);
		break;
	case ARGUMENT_TEXT: case ARGUMENT_NAME: put_json_text(o, a->text, a->bytes, a->more); break;
	case ARGUMENT_FAULT: out_str(o, "\"(fault)\""); break;
	case ARGUMENT_OPEN: out_char(o, '{'); break;
	case ARGUMENT_LIST: out_char(o, '['); break;
	case ARGUMENT_UNKNOWN: case ARGUMENT_CLOSE: case ARGUMENT_LIST_END:
		out_str(o, "null");
		break;
	}
}

/* The visitor (argument_visit). A list's or a structure's first member has no comma before it
 * (first); elements of a list have no names (in_list). n counts what is named, for arg1, arg2,
 * ... */
static void put_json(void *context, const struct argument_told *a)
{
	struct json_telling *j = context;

	if (a->kind == ARGUMENT_CLOSE || a->kind == ARGUMENT_LIST_END) {
		if (a->more)
			out_str(j->out, ",\"...\"");
		out_char(j->out, a->kind == ARGUMENT_CLOSE ? '}' : ']');
		j->first = j->in_list = false;
		return;
	}
	j->n += !j->in_list;
	if (!j->first)
		out_char(j->out, ',');
	if (!j->alone && !j->in_list)
		put_json_name(j, a);
	put_json_value(j, a);
	j->in_list |= a->kind == ARGUMENT_LIST;
	/* The members of a value without a name have theirs. */
	j->alone = false;
	j->first = a->kind == ARGUMENT_OPEN || a->kind == ARGUMENT_LIST;
}

/* The record is tried before the brace is written: false leaves the output as it was. */
bool arguments_json(struct out *o, const struct trace_info *info, const struct event *e)
{
	struct json_telling j = { .out = o, .first = true };
	uint8_t record[ARGUMENTS_RECORD];
	struct prototype p;

	if (!arguments_record(info, e, &p, record))
		return false;
	out_char(o, '{');
	arguments_each(info, e, put_json, &j);
	out_char(o, '}');
	return true;
}

bool arguments_returned_json(struct out *o, const struct trace_info *info, uint32_t image,
			     uint32_t fn, struct call_value value)
{
	struct json_telling j = { .out = o, .first = true, .alone = true };

	return arguments_returned(info, image, fn, value, "", put_json, &j);
}
