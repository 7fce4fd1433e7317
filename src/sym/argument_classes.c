/* SPDX-License-Identifier: MIT */
/* Classifies structures as System V's convention does: which of their words are in registers, and
 * in which sort of them. Called by argument_types.c and argument_returned.c, on their thread; no
 * state. Debug information may be damaged or of a compiler that is not known: what cannot be told
 * is said to be unknown, and depth and number of members have limits. */
#include "sym/argument_classes.h"

#include <string.h>

#include "base/prototype.h"
#include "sym/argument_text.h"
#include "sym/arguments.h"
#include "sym/class_members.h"
#include "sym/dwarf_type.h"

#define NESTED_DEEPEST 16   /* structures within structures */
#define CLASSIFIED_MOST 256 /* members within members */

bool argument_is_long_double(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_type_encoding(type) == DW_ATE_float &&
	       dwarf_type_bytes(type) == 2 * ARGUMENT_WORD && name &&
	       !strcmp(name, "long double");
}

/* __bf16 has another format, and the same encoding and size. */
bool argument_is_half(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_type_encoding(type) == DW_ATE_float && dwarf_type_bytes(type) == 2 && name &&
	       !strcmp(name, "_Float16");
}

/* Whether numbers of up to 8 bytes lie in vector registers: _Decimal64 does, too. */
static bool is_in_vector(unsigned encoding)
{
	return encoding == DW_ATE_float || encoding == DW_ATE_decimal_float;
}

/* Notes what a structure or a member asks of its location on the stack. */
static void note_alignment(Dwarf_Die *die, struct argument_classes *c)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;

	if (!dwarf_attr(die, DW_AT_alignment, &attr))
		return;
	if (dwarf_formudata(&attr, &n))
		n = UINT64_MAX;
	c->aligned |= n > ARGUMENT_WORD;
	c->beyond |= n > 2 * ARGUMENT_WORD;
}

static bool is_cpp(int language)
{
	return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
	       language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14;
}

static bool classify(struct class_member *m, void *context);

/* A member of two words: an integer, or what is in st0, if that is all there is. False: it is
 * neither. Where clang passes an integer for which one register is left, its versions differ. */
static bool classify_wide(Dwarf_Die *type, uint64_t at, struct argument_classes *c)
{
	unsigned encoding = dwarf_type_encoding(type);

	if (dwarf_tag(type) != DW_TAG_base_type || dwarf_type_bytes(type) != 2 * ARGUMENT_WORD)
		return false;
	c->memory |= at != 0;
	c->aligned = true;
	if (argument_is_long_double(type)) {
		c->x87 = true;
		c->unclassed |= !c->wide;
	} else if (encoding == DW_ATE_signed || encoding == DW_ATE_unsigned) {
		c->beside = c->paired = true;
		c->numbers |= 3;
		c->unclassed |= !c->wide && argument_unit_is_clang(type);
	} else {
		c->beside = c->unclassed = true;
	}
	c->used |= 3;
	return true;
}

/* A number of two parts, which lie as two numbers do. */
static bool classify_complex(uint64_t at, uint64_t part, struct argument_classes *c)
{
	if (part != ARGUMENT_WORD / 2 && part != ARGUMENT_WORD)
		return false;
	c->memory |= at % part != 0;
	c->beside = true;
	c->unclassed |= !c->wide;
	for (uint64_t k = at; k <= at + part && k < 2 * ARGUMENT_WORD; k += part)
		c->used |= 1u << k / ARGUMENT_WORD;
	return true;
}

/* A vector, or a pointer to a member: in registers, if it lies well. */
static bool classify_unclassed(uint64_t at, uint64_t bytes, uint64_t each,
			       struct argument_classes *c)
{
	if (!bytes || bytes > 2 * ARGUMENT_WORD || !each)
		return false;
	c->memory |= at % each != 0;
	c->beside = c->unclassed = true;
	c->aligned |= each > ARGUMENT_WORD;
	return true;
}

/* A vector as a member, of a parameter: in vector registers, one of two words in one of them. Where
 * one of a single element lies is each compiler's own. */
static bool classify_vector(Dwarf_Die *type, uint64_t at, uint64_t bytes,
			    struct argument_classes *c)
{
	Dwarf_Die element;
	bool several = dwarf_type_plain(type, &element) && dwarf_type_bytes(&element) < bytes,
	     one = bytes == ARGUMENT_WORD;

	c->values++;
	if (c->wide || !several || at % bytes || (!one && bytes != 2 * ARGUMENT_WORD))
		return classify_unclassed(at, bytes, bytes, c);
	c->beside = true;
	c->vector |= !one;
	c->aligned |= !one;
	if (at < 2 * ARGUMENT_WORD)
		c->used |= one ? 1u << at / ARGUMENT_WORD : 3;
	return true;
}

uint64_t argument_array_bytes(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(type, &bytes) ? 0 : bytes;
}

/* A value that is no structure. */
static bool classify_scalar(Dwarf_Die *type, uint64_t at, struct argument_classes *c)
{
	uint64_t bytes = dwarf_type_is_pointer(type) ? ARGUMENT_WORD : dwarf_type_bytes(type);
	unsigned encoding = dwarf_tag(type) == DW_TAG_base_type ? dwarf_type_encoding(type) : 0;

	c->values++;
	if (dwarf_tag(type) == DW_TAG_ptr_to_member_type)
		return classify_unclassed(at, ARGUMENT_WORD, ARGUMENT_WORD, c);
	if (encoding == DW_ATE_complex_float)
		return classify_complex(at, bytes / 2, c);
	if (!argument_is_recorded_size(bytes))
		return classify_wide(type, at, c);
	c->memory |= at % bytes != 0;
	c->beside = true;
	if (at < 2 * ARGUMENT_WORD) {
		c->used |= 1u << at / ARGUMENT_WORD;
		if (!is_in_vector(encoding))
			c->numbers |= 1u << at / ARGUMENT_WORD;
	}
	return true;
}

/* System V's classification, as far as two words go. False: the type is too deeply nested, or has
 * a part of which nothing is known. */
static bool classify_type(Dwarf_Die *type, uint64_t at, struct argument_classes *c)
{
	uint64_t base = c->base;
	bool good;

	if (!dwarf_type_is_class(type))
		return classify_scalar(type, at, c);
	if (++c->depth > NESTED_DEEPEST || dwarf_hasattr(type, DW_AT_declaration))
		return false;
	note_alignment(type, c);
	c->base = at;
	good = class_members_each(type, classify, c, c->work);
	c->base = base;
	c->depth--;
	return good;
}

/* An array without elements has no part in registers. A structure that ends with one of no length
 * lies in memory, but not with gcc in C, to which it is as if it were not there. */
static bool classify_endless(Dwarf_Die *array, struct argument_classes *c)
{
	Dwarf_Die range;
	uint64_t n;

	if (!dwarf_type_dimension(array, 0, &n) || n || dwarf_child(array, &range))
		return false;
	c->flexible |= !dwarf_hasattr(&range, DW_AT_count) &&
		       !dwarf_hasattr(&range, DW_AT_upper_bound);
	return true;
}

/* Arrays lie as their elements do. */
static bool classify(struct class_member *m, void *context)
{
	struct argument_classes *c = context;
	uint64_t at = c->base + m->offset, bytes, size;
	Dwarf_Die element;

	if (++c->members > CLASSIFIED_MOST)
		return false;
	note_alignment(&m->die, c);
	if (dwarf_tag(&m->type) != DW_TAG_array_type)
		return classify_type(&m->type, m->bits ? at & ~(ARGUMENT_WORD - 1) : at, c);
	size = argument_array_bytes(&m->type);
	if (dwarf_hasattr(&m->type, DW_AT_GNU_vector))
		return size ? classify_vector(&m->type, at, size, c) : false;
	if (!size)
		return classify_endless(&m->type, c);
	if (!dwarf_type_plain(&m->type, &element))
		return false;
	bytes = dwarf_type_is_pointer(&element) ? ARGUMENT_WORD : argument_array_bytes(&element);
	/* Elements behind the second word decide nothing. */
	for (uint64_t k = 0; bytes && k + bytes <= size && k < 2 * ARGUMENT_WORD; k += bytes)
		if (!classify_type(&element, at + k, c))
			return false;
	return bytes != 0;
}

/* By DW_AT_producer, which has the compiler's name and version. */
bool argument_unit_is_clang(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	const char *by;

	if (!dwarf_diecu(type, &unit, NULL, NULL))
		return false;
	by = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attr));
	return by && strstr(by, "clang");
}

/* Whether the unit's compiler passes structures that end with an array of no length in memory. */
static bool keeps_flexible_in_memory(Dwarf_Die *type)
{
	Dwarf_Die unit;

	return argument_unit_is_clang(type) ||
	       (dwarf_diecu(type, &unit, NULL, NULL) && is_cpp(dwarf_srclang(&unit)));
}

enum argument_way argument_struct_way(Dwarf_Die *type, struct argument_classes *c)
{
	uint64_t bytes = dwarf_type_bytes(type);

	if (dwarf_hasattr(type, DW_AT_declaration) || !dwarf_hasattr(type, DW_AT_byte_size))
		return ARGUMENT_WAY_UNKNOWN;
	note_alignment(type, c);
	c->known = class_members_each(type, classify, c, c->work);
	/* A long double's second word is in memory where the first one is shared. */
	if (c->memory || (c->x87 && c->beside) || (c->flexible && keeps_flexible_in_memory(type)))
		return ARGUMENT_IN_MEMORY;
	/* A type that is not known may be one vector alone, in a wide register. */
	if (bytes > 2 * ARGUMENT_WORD &&
	    (c->known || (bytes != 4 * ARGUMENT_WORD && bytes != 8 * ARGUMENT_WORD)))
		return ARGUMENT_IN_MEMORY;
	return c->known ? ARGUMENT_IN_REGISTERS : ARGUMENT_WAY_UNKNOWN;
}

/* Whether the class has nothing in it, which C++ gives a byte and no register. */
static bool is_empty(Dwarf_Die *type, const struct argument_classes *c)
{
	bool cpp = dwarf_hasattr(type, DW_AT_byte_size) && dwarf_type_bytes(type) == 0;
	Dwarf_Die unit;

	if (c->members || c->flexible)
		return false;
	if (dwarf_type_bytes(type) == 1 && dwarf_diecu(type, &unit, NULL, NULL))
		cpp = is_cpp(dwarf_srclang(&unit));
	return cpp;
}

bool argument_struct_location(Dwarf_Die *type, bool memory, struct sym_location *location,
			       uint64_t *work)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct argument_classes c = { .work = work, .memory = memory };
	enum argument_way way = argument_struct_way(type, &c);

	location->empty = way == ARGUMENT_IN_REGISTERS && is_empty(type, &c);
	if (location->empty)
		return true;
	/* Where an aligned structure begins on the stack depends on those before it, and on how it
	 * is aligned, which only vectors and integers of two words tell: a structure that is packed
	 * has no such size. */
	if (!bytes || bytes > PROTOTYPE_BLOCK * 8 || !c.known ||
	    (c.aligned &&
	     ((!c.vector && !c.paired) || c.beyond || bytes % (2 * ARGUMENT_WORD))))
		return false;
	location->words = (uint8_t)((bytes + ARGUMENT_WORD - 1) / ARGUMENT_WORD);
	location->memory = way == ARGUMENT_IN_MEMORY;
	location->floats = c.used & ~c.numbers;
	location->aligned = c.aligned;
	location->vector = c.vector && !location->memory;
	/* Beside something else the vector's words are in registers of their own. */
	if (location->vector)
		return c.values == 1 && !c.unclassed;
	return location->memory || (!c.unclassed && c.used == (1u << location->words) - 1);
}
