/* SPDX-License-Identifier: MIT */
/* Asks the debug information for types, for arguments.c, argument_types.c and source_expression.c,
 * on their threads; no state. Chains of types are a file's, and bounded. Nothing fails: a type that
 * is not there is none. */
#include "sym/dwarf_type.h"

#include <dwarf.h>
#include <string.h>

#define DEEPEST 24          /* types behind types */
#define BASES_MOST 64u      /* bases of a class, with theirs, that are looked at */
#define OFFSET_MOST (1 << 20)

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* The type behind typedefs and qualifiers; false: it is void, or the chain has no end. */
bool dwarf_type_plain(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	*type = *die;
	for (int i = 0; i < DEEPEST; i++) {
		if (!dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attr), type))
			return false;
		if (!is_qualifier(dwarf_tag(type)))
			return true;
	}
	return false;
}

/* 0: not told, as of an incomplete type. */
uint64_t dwarf_type_bytes(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word bytes;

	return dwarf_formudata(dwarf_attr_integrate(type, DW_AT_byte_size, &attr), &bytes) ? 0
											    : bytes;
}

bool dwarf_type_is_char(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_base_type && dwarf_type_bytes(type) == 1 && name &&
	       strcmp(name, "char") == 0;
}

bool dwarf_type_is_class(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

bool dwarf_type_is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* Steps to the base that a DW_TAG_inheritance names. False: it is virtual, or not known where it
 * lies. */
static bool find_base(Dwarf_Die *inheritance, Dwarf_Die *base, int32_t *at)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;

	if (dwarf_formudata(dwarf_attr(inheritance, DW_AT_data_member_location, &attr), &offset) ||
	    offset > OFFSET_MOST || !dwarf_type_plain(inheritance, base))
		return false;
	*at = (int32_t)offset;
	return true;
}

/* Whether the class has the name, or a base that has it, which lies at *at. Bases stand before
 * members; where a virtual one lies is not known. work: classes that may still be looked at. */
static bool is_or_derives(Dwarf_Die *class, const char *name, unsigned *work, int32_t *at)
{
	const char *is = dwarf_diename(class);
	Dwarf_Die child, base;
	int r;

	*at = 0;
	if (is && !strcmp(is, name))
		return true;
	if (!dwarf_type_is_class(class))
		return false;
	r = dwarf_child(class, &child);
	for (; r == 0 && *work && dwarf_tag(&child) == DW_TAG_inheritance;
	     r = dwarf_siblingof(&child, &child)) {
		int32_t offset;

		--*work;
		if (!find_base(&child, &base, &offset) || !is_or_derives(&base, name, work, at))
			continue;
		*at += offset;
		return *at <= OFFSET_MOST;
	}
	return false;
}

/* work: bases that may still be looked at. */
static void see_bases(Dwarf_Die *class, int32_t from, unsigned *work, dwarf_base_seen *see,
		      void *context)
{
	Dwarf_Die child, base;
	int32_t at;
	int r = dwarf_child(class, &child);

	for (; r == 0 && *work && dwarf_tag(&child) == DW_TAG_inheritance;
	     r = dwarf_siblingof(&child, &child)) {
		--*work;
		if (!find_base(&child, &base, &at) || from + at > OFFSET_MOST)
			continue;
		if (dwarf_diename(&base))
			see(context, dwarf_diename(&base), from + at);
		see_bases(&base, from + at, work, see, context);
	}
}

void dwarf_type_bases(Dwarf_Die *class, dwarf_base_seen *see, void *context)
{
	unsigned work = BASES_MOST;

	see_bases(class, 0, &work, see, context);
}

/* work 0: no bases are looked at. */
static bool leads_to(Dwarf_Die *die, const char *name, unsigned work, int32_t *at)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_type_plain(die, &type) || !dwarf_type_is_pointer(&type))
		return false;
	for (int i = 0; i < DEEPEST; i++) {
		if (!dwarf_formref_die(dwarf_attr_integrate(&type, DW_AT_type, &attr), &type))
			return false;
		if ((dwarf_type_is_class(&type) || dwarf_tag(&type) == DW_TAG_typedef) &&
		    is_or_derives(&type, name, &work, at))
			return true;
		if (!is_qualifier(dwarf_tag(&type)))
			return false;
	}
	return false;
}

/* Through one pointer or reference. *at: how far in the pointed-to structure the one of that name
 * lies, as a base class. */
bool dwarf_type_leads_to(Dwarf_Die *die, const char *name, int32_t *at)
{
	return leads_to(die, name, BASES_MOST, at);
}

bool dwarf_type_points_to(Dwarf_Die *die, const char *name)
{
	int32_t at;

	return leads_to(die, name, 0, &at);
}

unsigned dwarf_type_encoding(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	return dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding) ||
			       encoding > 0xff
		       ? 0
		       : (unsigned)encoding;
}

/* *n 0: an array without a length, as at the end of a structure. */
bool dwarf_type_dimension(Dwarf_Die *array, unsigned dimension, uint64_t *n)
{
	unsigned passed = 0;
	Dwarf_Attribute attr;
	Dwarf_Word count;
	Dwarf_Die child;
	int r = dwarf_child(array, &child);

	for (; r == 0 && passed < DEEPEST; r = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) != DW_TAG_subrange_type || passed++ != dimension)
			continue;
		*n = 0;
		if (!dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attr), &count))
			*n = count;
		else if (!dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attr), &count))
			*n = count + 1;
		return true;
	}
	return false;
}

/* The form decides whether the number has a sign. */
bool dwarf_type_constant(Dwarf_Die *die, int64_t *number)
{
	Dwarf_Attribute attr;
	Dwarf_Sword with_sign;
	Dwarf_Word without;
	unsigned form;

	if (!dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return false;
	form = dwarf_whatform(&attr);
	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attr, &with_sign))
			return false;
		*number = with_sign;
		return true;
	}
	if (dwarf_formudata(&attr, &without))
		return false;
	*number = (int64_t)without;
	return true;
}
