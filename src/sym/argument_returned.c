/* SPDX-License-Identifier: MIT */
/* Writes the `returned` of base/prototype.h: in which registers, or where in memory, the calling
 * convention leaves a value of the type. Called by arguments.c on its thread; no state. What the
 * debug information does not tell is shown as such. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "sym/argument_classes.h"
#include "sym/argument_text.h"
#include "sym/arguments.h"
#include "sym/class_copying.h"
#include "sym/dwarf_type.h"

/* A returned value that cannot be told is shown as {...}: rax is a part of it at most. */
#define NOT_TOLD "Rio1{...}"

/* The structure's text behind R or M, with its letter; NULL: nothing of it can be told. */
static char *whole_text(Dwarf_Die *type, uint64_t *work)
{
	char *members = argument_struct_text(type, PROTOTYPE_WHOLE_BYTES, true, work), *text;

	text = members ? mem_printf("o%s", members) : NULL;
	free(members);
	return text;
}

/* In memory: rax is its address, and shown if nothing else can be. */
static char *memory_text(Dwarf_Die *type, uint64_t *work)
{
	bool pointer = argument_library_letter(type, work) == 'U';
	char *whole = pointer ? mem_strdup("p") : whole_text(type, work);
	char *text = whole ? mem_printf("M%s", whole) : mem_strdup("p");

	free(whole);
	return text;
}

/* In registers: a class for each word, as System V's convention has it (3.2.3, "Returning of
 * Values"). If nothing can be told of it, NOT_TOLD. */
static char *registers_text(Dwarf_Die *type, const struct argument_classes *c, uint64_t *work)
{
	bool second = dwarf_type_bytes(type) > ARGUMENT_WORD;
	char *whole = whole_text(type, work), *text;
	char classes[3] = "x";

	if (!c->x87) {
		classes[0] = c->numbers & 1 ? 'i' : 'f';
		classes[1] = !second ? '\0' : c->numbers & 2 ? 'i' : 'f';
	}
	text = whole ? mem_printf("R%s%s", classes, whole) : mem_strdup(NOT_TOLD);
	free(whole);
	return text;
}

/* A structure that is copied as bytes. */
static char *plain_struct_text(Dwarf_Die *type, uint64_t *work)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct argument_classes c = { .work = work, .wide = true };
	enum argument_way way = argument_struct_way(type, &c);

	if (way == ARGUMENT_IN_MEMORY)
		return memory_text(type, work);
	/* A word without a member has no register. */
	if (way == ARGUMENT_WAY_UNKNOWN || c.unclassed || c.used != (bytes > ARGUMENT_WORD ? 3 : 1))
		return mem_strdup(NOT_TOLD);
	return registers_text(type, &c, work);
}

/* A vector in xmm0; of one that is wider, only a part is recorded. */
static char *vector_returned_text(Dwarf_Die *type)
{
	uint64_t bytes;
	char *elements = argument_vector_text(type, &bytes), *text;

	text = elements ? mem_printf("R%s%s", bytes > ARGUMENT_WORD ? "v" : "f", elements)
			: mem_strdup(NOT_TOLD);
	free(elements);
	return text;
}

/* Types that no reader prints, and rax does not hold: __bf16, a large complex
 * number. */
static bool is_not_told(Dwarf_Die *type)
{
	unsigned encoding = dwarf_type_encoding(type);

	return dwarf_type_bytes(type) > ARGUMENT_WORD || encoding == DW_ATE_complex_float ||
	       (encoding == DW_ATE_float && dwarf_type_bytes(type) < ARGUMENT_WORD / 2 &&
		!argument_is_half(type));
}

/* A value that rax or xmm0 does not hold as a whole, or that cannot be told; NULL: it is none. */
static char *large_text(Dwarf_Die *type)
{
	const char *wide;

	if (dwarf_tag(type) == DW_TAG_array_type)
		return vector_returned_text(type);
	/* Two words, if it is a function. */
	if (dwarf_tag(type) == DW_TAG_ptr_to_member_type)
		return mem_strdup(NOT_TOLD);
	if (dwarf_tag(type) != DW_TAG_base_type)
		return NULL;
	wide = argument_wide_text(type);
	if (!wide && is_not_told(type))
		wide = NOT_TOLD;
	return wide ? mem_strdup(wide) : NULL;
}

/* Wide vectors are in registers only if the compiler was allowed to use these. */
enum argument_way argument_returned_way(Dwarf_Die *type)
{
	uint64_t work = 0, bytes;
	struct argument_classes c = { .work = &work, .wide = true };

	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return argument_struct_way(type, &c);
		case CLASS_IN_MEMORY: case CLASS_BY_CODE: return ARGUMENT_IN_MEMORY;
		case CLASS_COPYING_UNKNOWN: return ARGUMENT_WAY_UNKNOWN;
		}
	}
	bytes = dwarf_tag(type) == DW_TAG_array_type ? argument_array_bytes(type) : 0;
	return bytes > 2 * ARGUMENT_WORD ? ARGUMENT_WAY_UNKNOWN : ARGUMENT_IN_REGISTERS;
}

/* The returned value's part of a prototype, for free(); never NULL. */
char *argument_returned_text(Dwarf_Die *type)
{
	Dwarf_Die target = *type;
	uint64_t work = 0;
	char letter, *text;

	if (dwarf_type_is_pointer(type) && !dwarf_type_plain(type, &target))
		return argument_scalar_text(type);
	letter = argument_library_letter(&target, &work);
	/* A string by its address is found in rax, and so is one whose location the caller gave. */
	if (letter == 'S' || (letter == 'V' && dwarf_type_is_class(type)))
		return mem_printf("%c", letter);
	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return plain_struct_text(type, &work);
		case CLASS_IN_MEMORY: case CLASS_BY_CODE: return memory_text(type, &work);
		case CLASS_COPYING_UNKNOWN: return mem_strdup(NOT_TOLD);
		}
	}
	text = large_text(type);
	return text ? text : argument_scalar_text(type);
}
