/* SPDX-License-Identifier: MIT */
/* Parses prototypes, on any thread, without memory of its own. The text is not trusted: a number
 * that is too long, a size that no value has, and whatever does not follow the grammar is
 * refused. */
#include "base/prototype.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any number of 19 decimal digits fits 64 bits; one of 20 may not. */
#define DIGITS_MOST 19

/* `*at` is the next character; the text ends with a NUL, which no rule takes. */
static bool takes_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* '$' is in names that compilers make. */
static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

/* end NULL: the text's NUL ends it, since that is no character of a name. */
static uint32_t name_length(const char *at, const char *end)
{
	const char *from = at;

	while (at != end && is_name_char(*at))
		at++;
	return (uint32_t)(at - from);
}

/* A decimal number, perhaps negative. */
static bool parse_number(const char **at, const char *end, int64_t *out)
{
	bool negative = *at != end && **at == '-';
	uint64_t value = 0;
	int digits = 0;

	for (*at += negative; *at != end && **at >= '0' && **at <= '9'; ++*at) {
		if (++digits > DIGITS_MOST)
			return false;
		value = 10 * value + (uint64_t)(**at - '0');
	}
	*out = (int64_t)(negative ? 0 - value : value);
	return digits > 0;
}

/* False at the end, and where the text is malformed: it may be a trace file's. *at moves behind
 * the name and its number. */
bool prototype_next_name(const char **at, const char *end, struct prototype_name *out)
{
	*out = (struct prototype_name){ *at, name_length(*at, end), 0 };
	if (*at == end || !out->bytes)
		return false;
	*at += out->bytes;
	if (*at == end || *(*at)++ != ':' || !parse_number(at, end, &out->number))
		return false;
	return *at != end && *(*at)++ == ';';
}

/* "{NAME:NUMBER;...}" The names are not copied: values point into the text, which the caller
 * keeps. */
static bool parse_names(const char **at, struct prototype_value *v)
{
	const char *close = strchr(*at, '}'), *inside = *at + 1;
	struct prototype_name name;

	if (**at != '{' || !close || close - inside > UINT16_MAX)
		return false;
	v->names = inside;
	v->names_bytes = (uint32_t)(close - inside);
	while (inside != close)
		if (!prototype_next_name(&inside, close, &name))
			return false;
	*at = close + 1;
	return true;
}

/* 1, 2, 4 or 8 behind a type's letter, where the table says so. A decimal float has 4 bytes at
 * least (_Decimal32), a binary one 2 (_Float16). */
static bool parse_size(const char **at, struct prototype_value *v)
{
	if (!**at || !strchr("1248", **at))
		return false;
	v->size = (uint8_t)(*(*at)++ - '0');
	return v->type != PROTOTYPE_FLOAT || v->size >= (v->decimal ? 4 : 2);
}

/* TYPE of the grammar in prototype.h. A row with `sized` wants BYTES behind its letter. */
static const struct { char letter; uint8_t type, size; bool sized; uint8_t form; } letters[] = {
	{ 'd', PROTOTYPE_SIGNED, 0, true },   { 'u', PROTOTYPE_UNSIGNED, 0, true },
	{ 'f', PROTOTYPE_FLOAT, 0, true },    { 'D', PROTOTYPE_FLOAT, 0, true },
	{ 'e', PROTOTYPE_ENUM, 0, true },     { 'E', PROTOTYPE_ENUM, 0, true },
	{ 'c', PROTOTYPE_CHAR, 1, false },    { 'b', PROTOTYPE_BOOL, 1, false },
	{ 'p', PROTOTYPE_POINTER, 8, false }, { 's', PROTOTYPE_STRING_AT, 4, false },
	{ 'v', PROTOTYPE_VOID, 0, false },    { '?', PROTOTYPE_UNKNOWN, 0, false },
	{ '-', PROTOTYPE_UNASKED, 0, false },
	{ 'S', PROTOTYPE_STRING_AT, 4, false, PROTOTYPE_OBJECT },
	{ 'V', PROTOTYPE_STRING_AT, 4, false, PROTOTYPE_VIEW },
	{ 'U', PROTOTYPE_POINTER, 8, false, PROTOTYPE_INDIRECT },
};

/* Reads one value's letter, with the size and the names that the letter asks for. */
static bool parse_type(const char **at, struct prototype_value *v)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (!takes_char(at, letters[i].letter))
			continue;
		v->type = letters[i].type;
		v->size = letters[i].size;
		v->form = letters[i].form;
		v->decimal = letters[i].letter == 'D';
		v->moded = letters[i].letter == 'E';
		if (letters[i].sized && !parse_size(at, v))
			return false;
		return v->type != PROTOTYPE_ENUM || parse_names(at, v);
	}
	return false;
}

/* Types of 16 bytes or more, which no register of a parameter holds: they stand apart, so that a
 * parameter cannot have them. */
static const struct { char letter; uint8_t type; } wide_letters[] = {
	{ 'q', PROTOTYPE_WIDE_SIGNED }, { 'Q', PROTOTYPE_WIDE_UNSIGNED },
	{ 'l', PROTOTYPE_LONG_DOUBLE }, { 'g', PROTOTYPE_QUAD }, { 'G', PROTOTYPE_QUAD },
	{ 'z', PROTOTYPE_COMPLEX },
};

/* Parses a result that has more bytes than a parameter's value may have. False: it is no such
 * value, or malformed. */
static bool parse_wide(const char **at, struct prototype_value *v)
{
	for (size_t i = 0; i < sizeof(wide_letters) / sizeof(wide_letters[0]); i++) {
		if (!takes_char(at, wide_letters[i].letter))
			continue;
		v->type = wide_letters[i].type;
		v->decimal = wide_letters[i].letter == 'G';
		v->size = 16;
		/* Both parts; a part's size is four or eight. */
		if (v->type == PROTOTYPE_COMPLEX && !(parse_size(at, v) && v->size >= 4))
			return false;
		if (v->type == PROTOTYPE_COMPLEX)
			v->size = (uint8_t)(2 * v->size);
		return true;
	}
	return false;
}

/* The value's place in the record: behind those before it. Each value is aligned to its size, as in
 * a C structure, and `fixed` is where the next one goes. */
static void place_value(struct prototype *p, struct prototype_value *v)
{
	if (!v->size)
		return;
	p->fixed = (p->fixed + v->size - 1) & ~(v->size - 1u);
	v->at = (uint16_t)p->fixed;
	p->fixed += v->size;
}

/* A number of bytes, up to `most`. */
static bool parse_bytes(const char **at, uint32_t most, uint16_t *out)
{
	int64_t bytes;

	if (**at == '-' || !parse_number(at, NULL, &bytes) || bytes < 0 || bytes > most)
		return false;
	*out = (uint16_t)bytes;
	return true;
}

/* A member's place in the record: in the copy, or, of a string, behind it. */
static bool place_member(struct prototype *p, const struct prototype_value *of,
			 struct prototype_value *v, uint16_t offset)
{
	bool string = v->type == PROTOTYPE_STRING_AT;
	uint32_t bytes = string			      ? 8
			 : v->type == PROTOTYPE_CHARS ? v->bytes
			 : v->type == PROTOTYPE_ARRAY ? (uint32_t)v->elements * v->size
						      : v->size;

	if (offset + bytes > of->bytes || v->form != PROTOTYPE_PLAIN)
		return false;
	v->at = (uint16_t)(of->block + offset);
	v->pointer = v->at;
	if (string)
		place_value(p, v);
	return true;
}

/* Reads COUNT[+]TYPE behind the bracket. */
static bool parse_array(const char **at, struct prototype_value *v)
{
	uint16_t n;

	if (!parse_bytes(at, PROTOTYPE_ELEMENTS, &n) || !n)
		return false;
	v->more = takes_char(at, '+');
	if (!parse_type(at, v) || !v->size || v->type == PROTOTYPE_STRING_AT ||
	    v->form != PROTOTYPE_PLAIN)
		return false;
	v->element = v->type;
	v->type = PROTOTYPE_ARRAY;
	v->elements = (uint8_t)n;
	return true;
}

/* Element i of an array, as a value of its own: i is less than v->elements. */
struct prototype_value prototype_element(const struct prototype_value *v, uint32_t i)
{
	struct prototype_value element = *v;

	element.type = v->element;
	element.at = (uint16_t)(v->at + i * v->size);
	element.name = NULL;
	element.name_bytes = 0;
	element.more = false;
	return element;
}

/* Reads NAME@OFFSET=TYPE behind the structure with index `of`, or "...", the last. */
static bool parse_member(const char **at, struct prototype *p, uint32_t of)
{
	struct prototype_value *v = &p->parameters[p->n], *parent = &p->parameters[of];
	uint32_t name = name_length(*at, NULL);
	uint16_t offset;

	if (strncmp(*at, "...", 3) == 0) {
		*at += 3;
		parent->more = true;
		return **at == '}';
	}
	if (p->n == PROTOTYPE_VALUES || !name)
		return false;
	*v = (struct prototype_value){ .name = *at, .name_bytes = name };
	*at += name;
	if (!takes_char(at, '@') || !parse_bytes(at, PROTOTYPE_BLOCK, &offset) ||
	    !takes_char(at, '='))
		return false;
	p->n++;
	parent->members++;
	if (takes_char(at, 'a')) {
		v->type = PROTOTYPE_CHARS;
		if (!parse_bytes(at, PROTOTYPE_BLOCK, &v->bytes))
			return false;
	} else if (takes_char(at, '[') ? !parse_array(at, v)
				       : !parse_wide(at, v) && !parse_type(at, v)) {
		return false;
	}
	return place_member(p, parent, v, offset);
}

/* Reads a structure behind its letter; it is the last value so far. */
static bool parse_struct(const char **at, struct prototype *p, bool by_address)
{
	uint32_t of = p->n - 1;
	struct prototype_value *v = &p->parameters[of];

	v->type = PROTOTYPE_STRUCT;
	v->by_address = by_address;
	v->size = by_address ? 8 : 0;
	if (!parse_bytes(at, PROTOTYPE_BLOCK, &v->bytes) || !takes_char(at, '{'))
		return false;
	place_value(p, v);
	p->fixed = (p->fixed + 7) & ~7u;
	v->block = (uint16_t)p->fixed;
	p->fixed += ((v->bytes + 7u) & ~7u) + by_address;
	if (takes_char(at, '}'))
		return true;
	do
		if (!parse_member(at, p, of))
			return false;
	while (takes_char(at, ','));
	return takes_char(at, '}');
}

/* Reads BYTES and the value behind an X, the last one so far. A value of one or two registers that
 * is copied as its words: vectors and arrays of 8 or 16 bytes. */
static bool parse_block(const char **at, struct prototype *p)
{
	struct prototype_value *v = &p->parameters[p->n - 1];
	uint32_t used;

	if (!parse_bytes(at, 2 * 8, &v->bytes) || (v->bytes != 8 && v->bytes != 2 * 8))
		return false;
	if (takes_char(at, '[') ? !parse_array(at, v) : !parse_wide(at, v))
		return false;
	used = v->type == PROTOTYPE_ARRAY ? (uint32_t)v->elements * v->size : v->size;
	p->fixed = (p->fixed + 7) & ~7u;
	v->at = v->block = (uint16_t)p->fixed;
	p->fixed += v->bytes;
	return used <= v->bytes;
}

/* Reads [NAME=]TYPE, or "...", which must be the last. */
static bool parse_parameter(const char **at, struct prototype *p)
{
	struct prototype_value *v = &p->parameters[p->n];
	uint32_t name = name_length(*at, NULL);

	if (strncmp(*at, "...", 3) == 0) {
		*at += 3;
		p->more = true;
		return **at == ')';
	}
	if (p->n == PROTOTYPE_VALUES || p->taken == PROTOTYPE_PARAMETERS)
		return false;
	*v = (struct prototype_value){ 0 };
	if (name && (*at)[name] == '=') {
		v->name = *at;
		v->name_bytes = name;
		*at += name + 1;
	}
	p->n++;
	p->taken++;
	if (**at == 'o' || **at == 'O')
		return parse_struct(at, p, *(*at)++ == 'O');
	if (takes_char(at, 'X'))
		return parse_block(at, p);
	if (!parse_type(at, v))
		return false;
	place_value(p, v);
	return true;
}

/* --- what is returned ------------------------------------------------------------------------- */

/* Bytes of the whole that parse_whole() has read. */
static uint32_t whole_bytes(const struct prototype *p)
{
	const struct prototype_value *v = &p->parameters[0];

	if (v->type == PROTOTYPE_ARRAY)
		return (uint32_t)v->elements * v->size;
	return v->type == PROTOTYPE_STRUCT ? v->bytes : v->size;
}

/* Reads a WHOLE as the only parameter. Its bytes are those that have to be known. */
static bool parse_whole(const char **at, struct prototype *p)
{
	struct prototype_value *v = &p->parameters[0];

	*v = (struct prototype_value){ 0 };
	p->n = p->taken = 1;
	p->fixed = PROTOTYPE_FIRST;
	if (takes_char(at, 'o'))
		return parse_struct(at, p, false) && v->bytes <= PROTOTYPE_WHOLE_BYTES;
	if (**at == '[' ? ++*at, parse_array(at, v) : parse_wide(at, v)) {
		v->at = PROTOTYPE_FIRST;
		p->fixed += whole_bytes(p);
		return true;
	}
	if (**at != 'p' || !parse_type(at, v))
		return false;
	place_value(p, v);
	return true;
}

/* Whether the class fills the places of two words: a long double's, a whole vector register's. */
static bool is_two_words(char class)
{
	return class == 'x' || class == 'v';
}

/* Words that the classes give: at most two, since what needs more is returned in memory. */
static uint32_t class_words(const char classes[2])
{
	return is_two_words(classes[0]) ? 2 : !!classes[0] + !!classes[1];
}

static bool parse_classes(const char **at, char classes[2])
{
	for (unsigned n = 0; n < 2 && **at && strchr("ifxv", **at); n++)
		classes[n] = *(*at)++;
	return classes[0] && !is_two_words(classes[1]) &&
	       (!is_two_words(classes[0]) || !classes[1]);
}

/* Reads TYPE, or R or M and a WHOLE, of which the place is kept. */
static bool parse_returned(const char **at, struct prototype *out)
{
	struct prototype_whole *w = &out->whole;
	bool registers = takes_char(at, 'R');

	*w = (struct prototype_whole){ .memory = !registers && takes_char(at, 'M') };
	if (!registers && !w->memory)
		return parse_type(at, &out->returns);
	if (registers && !parse_classes(at, w->classes))
		return false;
	w->text = *at;
	out->returns.type = PROTOTYPE_WHOLE;
	return parse_whole(at, out) &&
	       (w->memory || whole_bytes(out) <= 8 * class_words(w->classes));
}

/* Gathers the words by their classes, in the order of the convention. */
static void gather_words(const char classes[2], const struct prototype_registers *r,
			 uint64_t words[2])
{
	unsigned n = 0, f = 0;

	memcpy(words, classes[0] == 'v' ? r->vectors[0] : r->extended, 2 * sizeof(*words));
	for (unsigned i = 0; i < 2 && !is_two_words(classes[0]); i++)
		words[i] = classes[i] == 'f' ? r->vectors[f++][0] : r->numbers[n++];
}

bool prototype_whole(const struct prototype *p, const void *at, uint32_t bytes,
		     struct prototype *out, uint8_t record[PROTOTYPE_RECORD], uint32_t *recorded)
{
	const char *text = p->whole.text;
	struct prototype_registers registers;
	uint64_t words[2];

	*out = (struct prototype){ .takes = true };
	if (p->returns.type != PROTOTYPE_WHOLE || !parse_whole(&text, out))
		return false;
	memset(record, 0, PROTOTYPE_RECORD);
	if (p->whole.memory) {
		bytes = bytes < PROTOTYPE_WHOLE_BYTES ? bytes : PROTOTYPE_WHOLE_BYTES;
		memcpy(record + PROTOTYPE_FIRST, at, bytes);
	} else {
		if (bytes < sizeof(registers))
			return false;
		memcpy(&registers, at, sizeof(registers));
		gather_words(p->whole.classes, &registers, words);
		bytes = sizeof(words);
		memcpy(record + PROTOTYPE_FIRST, words, bytes);
	}
	*recorded = PROTOTYPE_FIRST + bytes;
	return bytes >= whole_bytes(out);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The text may be anybody's. False: it is no prototype; *out has then what was read before, and
 * nothing of it is to be used. */
bool prototype_parse(const char *text, struct prototype *out)
{
	const char *at = text;

	out->returns = (struct prototype_value){ 0 };
	out->takes = out->more = false;
	if (!parse_returned(&at, out))
		return false;
	out->n = out->taken = 0;
	out->fixed = PROTOTYPE_FIRST;
	/* A prototype without parentheses tells the returned value alone. */
	if (!*at)
		return true;
	if (!takes_char(&at, '('))
		return false;
	out->takes = true;
	if (takes_char(&at, ')'))
		return !*at;
	do
		if (!parse_parameter(&at, out))
			return false;
	while (takes_char(&at, ','));
	return takes_char(&at, ')') && !*at;
}

typedef unsigned __int128 bits128;

/* The parts of a decimal number with a binary significand. */
struct decimal { bool negative; int exponent; bits128 digits; const char *word; };

/* Where the parts lie in the numbers of 4, 8 and 16 bytes. A significand beyond `most` counts as 0,
 * as the standard has it. */
struct decimal_format { unsigned bits, exponent_bits; int bias; bits128 most; };
static const struct decimal_format formats[3] = {
	{ 32, 8, 101, 9999999 },
	{ 64, 10, 398, UINT64_C(9999999999999999) },
	{ 128, 14, 6176,
	  (bits128)UINT64_C(10000000000000000) * UINT64_C(1000000000000000000) - 1 },
};

/* The encoding of IEEE 754-2008 with a binary integer as significand (BID). */
static struct decimal decimal_of(const struct decimal_format *f, bits128 number)
{
	const unsigned bits = f->bits, low = bits - 1 - f->exponent_bits;
	struct decimal d = { .negative = number >> (bits - 1) & 1 };
	unsigned at = low;

	/* Two bits that are set tell that the exponent stands two places lower, and that the
	 * significand has 100 in front; two more that it is no number. */
	if ((number >> (bits - 5) & 0xf) == 0xf) {
		d.word = !(number >> (bits - 6) & 1) ? "Infinity"
			 : number >> (bits - 7) & 1 ? "sNaN" : "NaN";
		/* A NaN's payload has one decimal digit less than a number's significand. */
		d.digits = *d.word == 'I' ? 0 : number & (((bits128)1 << (low - 3)) - 1);
		if (d.digits > f->most / 10)
			d.digits = 0;
		return d;
	}
	if ((number >> (bits - 3) & 3) == 3)
		at = low - 2;
	d.digits = number & (((bits128)1 << at) - 1);
	if (at != low)
		d.digits |= (bits128)1 << low;
	d.exponent = (int)(number >> at & ((1u << f->exponent_bits) - 1)) - f->bias;
	if (d.digits > f->most)
		d.digits = 0;
	return d;
}

/* Returns how many digits the number has, which are written to `digits`. By hand, because printf
 * has no conversion for 128 bits. 39 digits are the most that they have. */
static int put_digits(char digits[40], bits128 number)
{
	char *to = digits + 39;
	int count = 0;

	*to = '\0';
	do {
		*--to = (char)('0' + (int)(number % 10));
		number /= 10;
		count++;
	} while (number);
	memmove(digits, to, (size_t)count + 1);
	return count;
}

/* Digits with a point among them, or zeros before them: exponent <= 0. */
static void put_plain(char *to, size_t n, const char *digits, int count, int exponent)
{
	int whole = count + exponent; /* digits before the point */

	if (!exponent)
		snprintf(to, n, "%s", digits);
	else if (whole > 0)
		snprintf(to, n, "%.*s.%s", whole, digits, digits + whole);
	else
		snprintf(to, n, "0.%.*s%s", -whole, "000000", digits);
}

void prototype_decimal(const struct prototype_value *v, const void *at,
		       char text[PROTOTYPE_DECIMAL])
{
	const struct decimal_format *f = &formats[v->size == 16 ? 2 : v->size == 8];
	const size_t room = PROTOTYPE_DECIMAL - 1;
	char digits[40], *to;
	bits128 number = 0;
	struct decimal d;
	int count, shown;

	memcpy(&number, at, f->bits / 8);
	d = decimal_of(f, number);
	count = put_digits(digits, d.digits);
	shown = d.exponent + count - 1; /* the exponent behind one digit */
	to = text + d.negative;
	*text = '-';
	if (d.word)
		snprintf(to, room, "%s%s", d.word, d.digits ? digits : "");
	else if (d.exponent <= 0 && shown >= -6)
		put_plain(to, room, digits, count, d.exponent);
	else
		snprintf(to, room, "%c%s%sE%+d", *digits, count > 1 ? "." : "", digits + 1, shown);
}

/* IEEE's binary16. By hand, because not every supported compiler has _Float16: sign, 5 bits of
 * exponent with the bias 15, 10 bits of fraction; exponent 0 is a subnormal number, 31 infinity or
 * NaN. */
static double half_real(uint16_t bits)
{
	const uint64_t exponent = bits >> 10 & 31, fraction = bits & 1023;
	const uint64_t wide = (exponent - 15 + 1023) << 52 | fraction << 42;
	double number;

	memcpy(&number, &wide, sizeof(number));
	if (exponent == 31)
		number = fraction ? (double)NAN : (double)INFINITY;
	else if (!exponent)
		number = (double)fraction * 0x1p-24;
	return bits >> 15 ? -number : number;
}

/* A float is in the lower half of its word, as in a register. */
double prototype_real(const struct prototype_value *v, uint64_t number)
{
	uint32_t half = (uint32_t)number;
	char text[PROTOTYPE_DECIMAL];
	double whole;
	float single;

	if (v->decimal) {
		prototype_decimal(v, &number, text);
		return strtod(text, NULL);
	}
	if (v->size == 2)
		return half_real((uint16_t)number);
	memcpy(&whole, &number, sizeof(whole));
	memcpy(&single, &half, sizeof(single));
	return v->size == sizeof(single) ? (double)single : whole;
}
