/* SPDX-License-Identifier: MIT */
/* Reads the children of a class that lie in it. Called by argument_text.c and argument_classes.c,
 * on their thread; no state. The file's numbers may be any: they are only handed on. */
#include "sym/class_members.h"

#include <dwarf.h>

#include "sym/dwarf_type.h"
#include "sym/type_name.h"

#define CHILDREN_MOST 1024 /* methods, too */

/* False: the child is no member with a location in the structure. */
static bool member_of(Dwarf_Die *child, struct class_member *m)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset = 0, bit;
	int tag = dwarf_tag(child);

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
	    dwarf_hasattr(child, DW_AT_external) || !dwarf_type_plain(child, &m->type))
		return false;
	m->die = *child;
	m->bits = dwarf_hasattr(child, DW_AT_bit_size);
	if (dwarf_attr(child, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &offset))
		return false;
	if (dwarf_attr(child, DW_AT_data_bit_offset, &attr) && !dwarf_formudata(&attr, &bit))
		offset = bit / 8;
	m->offset = offset;
	return true;
}

bool class_members_each(Dwarf_Die *type, class_member_visitor *visit, void *context,
			uint64_t *work)
{
	bool all = true;
	struct type_scopes counted = { 0 };
	Dwarf_Die child;
	struct class_member m;
	int r = dwarf_child(type, &child);

	for (; all && r == 0 && counted.passed < CHILDREN_MOST;
	     r = type_next(&counted, &child))
		all = !member_of(&child, &m) || visit(&m, context);
	*work += counted.passed;
	return all && r != 0;
}
