/* SPDX-License-Identifier: MIT */
/* Tells of a parameter's type what is recorded of it and how it is passed. Called by arguments.c on
 * its thread; no state. A type whose place the convention does not tell is not recorded. */
#include "sym/argument_types.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "sym/argument_classes.h"
#include "sym/argument_text.h"
#include "sym/arguments.h"
#include "sym/class_copying.h"
#include "sym/dwarf_type.h"

/* An object that is passed by its address. */
static char *object_text(Dwarf_Die *type, struct argument_reading *r)
{
	char letter = argument_library_letter(type, &r->work), *members = NULL, *text;

	if (letter == 'S' || letter == 'U')
		return mem_printf("%c", letter);
	if (r->depth && dwarf_type_is_class(type))
		members = argument_struct_text(type, PROTOTYPE_BLOCK, false, &r->work);
	text = members ? mem_printf("O%s", members) : mem_strdup("p");
	free(members);
	return text;
}

/* NULL: where the structure is, and what stands behind it, is not known. For free(). */
static char *value_text(Dwarf_Die *type, bool memory, struct argument_reading *r)
{
	char letter = argument_library_letter(type, &r->work), *members, *text;

	/* Both types have destructors, whatever the compiler says of how they are passed. */
	if (letter == 'S' || letter == 'U')
		return mem_printf("%c", letter);
	if (!argument_struct_location(type, memory, r->passed, &r->work))
		return NULL;
	if (r->passed->empty)
		return mem_strdup("?");
	if (letter == 'V')
		return mem_strdup("V");
	members = argument_struct_text(type, PROTOTYPE_BLOCK, false, &r->work);
	text = members ? mem_printf("o%s", members) : mem_strdup("?");
	free(members);
	return text;
}

/* A base type of more than a register, or of a vector register: fills in how it is passed, and
 * returns its text behind X and BYTES; NULL: it is none. */
static char *wide_argument(Dwarf_Die *type, struct sym_location *location)
{
	const char *text = argument_wide_text(type);
	uint64_t bytes = dwarf_type_bytes(type);

	/* Where an __int128 lies for which one register is left, clang's versions differ. */
	if (!text || (text[1] == 'i' && argument_unit_is_clang(type)))
		return NULL;
	location->words = (uint8_t)(bytes / ARGUMENT_WORD);
	location->floats = text[1] != 'f' ? 0 : bytes > ARGUMENT_WORD ? 3 : 1;
	location->memory = text[1] == 'x';
	location->vector = text[1] == 'v';
	location->aligned = text[1] != 'f';
	return argument_wide_member(type);
}

/* Works as wide_argument() for a vector. */
static char *vector_argument(Dwarf_Die *type, struct sym_location *location)
{
	uint64_t bytes;
	char *text = argument_vector_text(type, &bytes);

	if (!text)
		return NULL;
	location->words = (uint8_t)(bytes / ARGUMENT_WORD);
	location->floats = 1;
	location->vector = location->aligned = bytes > ARGUMENT_WORD;
	return text;
}

/* A type that is no structure, and not in one register as a number is; NULL: it is none. */
static char *block_text(Dwarf_Die *type, struct sym_location *location)
{
	char *value = NULL, *text;

	if (dwarf_tag(type) == DW_TAG_array_type)
		value = vector_argument(type, location);
	else if (dwarf_tag(type) == DW_TAG_base_type)
		value = wide_argument(type, location);
	text = value ? mem_printf("X%u%s", location->words * ARGUMENT_WORD, value) : NULL;
	free(value);
	return text;
}

/* A number, or a vector, that is passed in a known way and not shown: "?"; NULL: it is none. Where
 * a longer vector lies depends on the machine that the code is for (`unsure`). For free(). */
static char *unshown_text(Dwarf_Die *type, struct sym_location *location)
{
	unsigned encoding = dwarf_tag(type) == DW_TAG_base_type ? dwarf_type_encoding(type) : 0;
	uint64_t bytes = dwarf_tag(type) == DW_TAG_array_type ? argument_array_bytes(type)
							      : dwarf_type_bytes(type);

	if (dwarf_tag(type) == DW_TAG_array_type && dwarf_hasattr(type, DW_AT_GNU_vector) &&
	    (bytes == 4 * ARGUMENT_WORD || bytes == 8 * ARGUMENT_WORD))
		location->unsure = true;
	else if (encoding != DW_ATE_float || bytes != 2 || argument_is_half(type))
		return NULL;
	location->words = (uint8_t)((bytes + ARGUMENT_WORD - 1) / ARGUMENT_WORD);
	location->vector = location->aligned = bytes > ARGUMENT_WORD;
	location->floats = !location->vector;
	return mem_strdup("?");
}

/* For free(); NULL: the argument cannot be told, and those behind it on the stack neither. */
char *argument_type_text(Dwarf_Die *type, struct argument_reading *r)
{
	Dwarf_Die target;
	char *text;

	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return value_text(type, false, r);
		case CLASS_IN_MEMORY: return value_text(type, true, r);
		case CLASS_BY_CODE: return object_text(type, r);
		case CLASS_COPYING_UNKNOWN: return NULL;
		}
	}
	if (dwarf_type_is_pointer(type) && dwarf_type_plain(type, &target) &&
	    dwarf_type_is_class(&target))
		return object_text(&target, r);
	text = block_text(type, r->passed);
	if (!text)
		text = unshown_text(type, r->passed);
	return text ? text : argument_scalar_text(type);
}
