/* SPDX-License-Identifier: MIT */
/* The types of probes' fields, and what stands behind an argument's colon: TYPE, TYPE[N],
 * bWIDTH@OFFSET/BITS. fetch.c and usdt.c call, on any thread; no state. A malformed type is told
 * with the kernel's sentence and its place. */
#include "event/fetch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names, fields and print formats are the kernel's (trace_probe.c). x8 to x64 are unsigned numbers
 * that are printed in hexadecimal. The field of a string is its length and place in the record, 4
 * bytes. `symbol` is the kernel's of kprobes: a user-space address has a symbol here. The
 * kernel makes a string of a `symstr`; the agent knows no symbols, so that it is one in the text
 * alone. */
static const struct fetch_type types[] = {
	{ "u8", "u8", "%u", 1, false, false },    { "u16", "u16", "%u", 2, false, false },
	{ "u32", "u32", "%u", 4, false, false },  { "u64", "u64", "%Lu", 8, false, false },
	{ "s8", "s8", "%d", 1, true, false },     { "s16", "s16", "%d", 2, true, false },
	{ "s32", "s32", "%d", 4, true, false },   { "s64", "s64", "%Ld", 8, true, false },
	{ "x8", "u8", "0x%x", 1, false, false },  { "x16", "u16", "0x%x", 2, false, false },
	{ "x32", "u32", "0x%x", 4, false, false }, { "x64", "u64", "0x%Lx", 8, false, false },
	{ "char", "u8", "'%c'", 1, false, false }, { "symbol", "u64", "%pS", 8, false, false },
	{ "symstr", "u64", "\\\"%pS\\\"", 8, false, false },
	{ "string", "__data_loc char[]", "\\\"%s\\\"", 4, true, true },
	{ "ustring", "__data_loc char[]", "\\\"%s\\\"", 4, true, true },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

const struct fetch_type *fetch_type_named(const char *name, size_t n)
{
	for (size_t i = 0; i < TYPES; i++)
		if (strlen(types[i].name) == n && memcmp(name, types[i].name, n) == 0)
			return &types[i];
	return NULL;
}

/* Each u row stands before the x row of its width, so that the number is a decimal one. */
const struct fetch_type *fetch_type_number(unsigned size, bool is_signed)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].size == size && types[i].is_signed == is_signed && !types[i].is_string)
			return &types[i];
	return NULL;
}

/* Reads a number as the kernel's simple_strtoul() does, up to the first other character. */
static unsigned long leading_number(const char **at)
{
	char *rest;
	unsigned long v = isdigit((unsigned char)**at) ? strtoul(*at, &rest, 0) : 0;

	if (isdigit((unsigned char)**at))
		*at = rest;
	return v;
}

/* Reads WIDTH@OFFSET/BITS; false: there are no such bits in the number. */
static bool parse_bits(const char *text, unsigned size, struct fetch_shape *out)
{
	unsigned long bits = leading_number(&text), shift;
	const char *from;

	if (!bits || *text != '@')
		return false;
	from = ++text;
	shift = leading_number(&text);
	if (text == from || *text != '/' || bits > 8ul * size || shift > 8ul * size - bits)
		return false;
	out->bits = (uint8_t)bits;
	out->shift = (uint8_t)shift;
	return true;
}

/* Returns the type of a name without brackets; NULL: there is none. */
static const struct fetch_type *parse_scalar(const char *name, struct fetch_shape *out)
{
	const char *base = strchr(name, '/');
	unsigned long bits;

	if (*name != 'b')
		return fetch_type_named(name, strlen(name));
	if (!base)
		return NULL;
	base++;
	bits = leading_number(&base);
	if (*base || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return NULL;
	out->bad_bits = !parse_bits(name + 1, (unsigned)bits / 8, out);
	return fetch_type_number((unsigned)bits / 8, false);
}

/* Reads N] behind the bracket. Returns a sentence, or NULL. */
static const char *parse_count(const char *text, struct fetch_shape *out, const char **where)
{
	const char *close = strchr(text, ']'), *at = text;
	unsigned long n = leading_number(&at);

	*where = close ? close + 1 : text + strlen(text);
	if (!close)
		return "Array is not closed";
	if (close[1])
		return "Array has wrong suffix";
	*where = text;
	if (at != close || !n)
		return "Invalid array size";
	if (n > FETCH_COUNT_MAX)
		return "Array number is too big";
	out->count = (uint16_t)n;
	return NULL;
}

const char *fetch_shape_parse(const char *text, struct fetch_shape *out, const char **where)
{
	const char *bracket = strchr(text, '['), *why;
	char *name;

	*out = (struct fetch_shape){ 0 };
	why = bracket ? parse_count(bracket + 1, out, where) : NULL;
	if (why)
		return why;
	name = mem_strndup(text, bracket ? (size_t)(bracket - text) : strlen(text));
	out->type = parse_scalar(name, out);
	free(name);
	*where = text;
	return out->type ? NULL : "Unknown type is specified";
}
